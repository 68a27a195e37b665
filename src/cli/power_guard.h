#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "energy/power_limits.h"

namespace sweetspot::cli {

// Power limits outlive the process that sets them, so a child of ours sets them: `sweetspot
// power-guard`, which knows the original values and restores them when its end of a socket closes,
// however we ended. A limit that somebody else has set meanwhile is left unchanged.

// For these GPUs, by the driver's numbers. core::InputError if a value is out of a GPU's range or a
// GPU has no settable limit.
class PowerGuard final : public energy::PowerLimits {
 public:
  // Changes nothing yet. nullptr, with the reason in a sentence, if this user may not set limits.
  static std::unique_ptr<PowerGuard> start(const std::vector<unsigned>& gpus, std::string& reason);
  ~PowerGuard() override;  // restores them, and reports a failure

  void set(double watts) override;
  std::optional<std::string> changed() override;

 private:
  PowerGuard(int socket, int pid, std::vector<unsigned> gpus);
  std::string ask(const std::string& request);

  int socket_, pid_;
  std::vector<unsigned> gpus_;
};

// "300W,500W"; InputError names the flag. Descending, each once.
std::vector<double> parse_power_limits(const std::string& text);
// The GPUs of a program with this CUDA_VISIBLE_DEVICES, or at this bus; all if both are empty.
// InputError if there is none, or a limit is out of its range.
std::vector<unsigned> gpus_to_limit(const std::string& visible_devices, const std::string& bus_id,
                                    const std::vector<double>& watts);
// The command that sets a limit: "sudo nvidia-smi -i 0 -pl 500".
std::string limit_command(const std::vector<unsigned>& gpus, double watts);

}  // namespace sweetspot::cli
