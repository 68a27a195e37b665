#pragma once
#include <filesystem>
#include <optional>
#include <string_view>

#include "probe/gpu.h"

namespace sweetspot::probe::amd {

// Why clocks are throttled, from the driver's gpu_metrics table; nullopt for a version whose
// reasons differ from chip to chip.
std::optional<gpu::Throttle> throttle_in(std::string_view gpu_metrics);

// AMD's GPUs, from the amdgpu driver's sysfs under this root. The driver lists neither a device's
// processes nor its energy.
gpu::Found find(const std::filesystem::path& root = "/");

}  // namespace sweetspot::probe::amd
