#include "telemetry/machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "engine/cuda/cuda.h"
#include "probe/proc/host.h"
#include "probe/proc/own_use.h"

namespace sweetspot::telemetry {
namespace {

class ThisMachine final : public Machine {
 public:
  double now() override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  double seconds_since_1970() override {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
  probe::proc::Load load() override { return probe::proc::load(); }
  std::optional<probe::proc::Scheduling> scheduling() override {
    return probe::proc::own_scheduling();
  }
  probe::cpu::SpeedReading speed() override {
    if (!speed_probe_) speed_probe_.emplace(probe::proc::usable_cores());
    return speed_probe_->take();
  }
  std::unique_ptr<Meter> meter(const std::string& device) override {
    if (!trial::on_gpu(device)) return make_cpu_meter();
    if (!gpus_) gpus_ = probe::gpu::find();
    const probe::gpu::Gpu* gpu = probe::gpu::at_bus(*gpus_, bus_of(device));
    return gpu ? make_gpu_meter(*gpu, is_own) : nullptr;
  }

 private:
  // Ranks may share the GPU.
  static bool is_own(std::int64_t pid) {
    if (pid == getpid()) return true;
    const std::vector<std::string> own = probe::proc::own_processes();
    return std::ranges::find(own, std::to_string(pid)) != own.end();
  }
  // CUDA and the driver number their devices differently.
  static std::string bus_of(const std::string& device) {
    for (const engine::cuda::Device& found : engine::cuda::available().devices)
      if (device == fmt::format("cuda:{}", found.index)) return found.bus_id;
    return "";
  }
  std::optional<probe::gpu::Found> gpus_;
  std::optional<probe::cpu::SpeedProbe> speed_probe_;
};

}  // namespace

Machine& this_machine() {
  static ThisMachine machine;
  return machine;
}

}  // namespace sweetspot::telemetry
