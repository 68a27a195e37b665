#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "study/power_limits.h"

namespace sweetspot::cli {

// Power limits outlive the process that sets them, so they are set by another one: a child of ours,
// `sweetspot power-guard`, which knows what was there before and puts it back when its end of a
// socket closes, however we came to our end. A limit that somebody else has set meanwhile is left
// as it is.

// Of these GPUs, by the driver's numbers. core::InputError where a value is out of a GPU's range or
// a GPU has no limit that can be set.
class PowerGuard final : public study::PowerLimits {
 public:
  // Nothing is changed yet. Nothing, with the reason in a sentence, where this user may not.
  static std::unique_ptr<PowerGuard> start(const std::vector<unsigned>& gpus, std::string& reason);
  ~PowerGuard() override;  // puts them back, and says so where it could not

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
// The GPUs of a program with this CUDA_VISIBLE_DEVICES, or at this bus; all where both are empty.
// InputError where there is none, or one of the limits is beyond what it allows.
std::vector<unsigned> gpus_to_limit(const std::string& visible_devices, const std::string& bus_id,
                                    const std::vector<double>& watts);
// The command that sets a limit: "sudo nvidia-smi -i 0 -pl 500".
std::string limit_command(const std::vector<unsigned>& gpus, double watts);

}  // namespace sweetspot::cli
