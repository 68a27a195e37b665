#pragma once
#include <optional>
#include <string_view>

#include "probe/gpu/gpu.h"

namespace sweetspot::probe::amd {

// What holds the clocks back, from the driver's gpu_metrics table; nothing for a version of it
// whose reasons differ from chip to chip.
std::optional<gpu::Throttle> throttle_in(std::string_view gpu_metrics);

}  // namespace sweetspot::probe::amd
