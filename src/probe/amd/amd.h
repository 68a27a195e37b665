#pragma once
#include <filesystem>
#include <optional>
#include <string_view>

#include "probe/gpu.h"

namespace sweetspot::probe::amd {

// What holds the clocks back, from the driver's gpu_metrics table; nothing for a version of it
// whose reasons differ from chip to chip.
std::optional<gpu::Throttle> throttle_in(std::string_view gpu_metrics);

// AMD's GPUs, as the amdgpu driver shows them in sysfs under this root. The driver does not list
// the processes of a device, nor count its energy.
gpu::Found find(const std::filesystem::path& root = "/");

}  // namespace sweetspot::probe::amd
