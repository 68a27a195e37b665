#include "trial/gpus.h"

namespace sweetspot::trial {

const GpuUse* fullest(const std::vector<GpuUse>& gpus) {
  const auto share = [](const GpuUse& gpu) {
    const auto free = static_cast<double>(gpu.memory_free.value_or(0));
    const auto peak = static_cast<double>(*gpu.memory_peak);
    return free > 0 ? peak / free : peak;
  };
  const GpuUse* found = nullptr;
  for (const GpuUse& gpu : gpus)
    if (gpu.memory_peak && (!found || share(gpu) > share(*found))) found = &gpu;
  return found;
}

std::string device_of(const std::vector<GpuUse>& gpus) {
  std::string device;
  for (const GpuUse& gpu : gpus)
    device += device.empty() ? gpu.device : "," + gpu.device.substr(gpu.device.find(':') + 1);
  return device;
}

std::string full_name(const GpuUse& gpu) {
  return gpu.name.empty() ? gpu.device : gpu.device + " (" + gpu.name + ")";
}

}  // namespace sweetspot::trial
