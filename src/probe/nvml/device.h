#pragma once
#include <memory>

#include "probe/gpu/gpu.h"
#include "probe/nvml/library.h"

namespace sweetspot::probe::nvml {

std::unique_ptr<gpu::Gpu> make_device(std::shared_ptr<const Library> library, Handle handle);

// What the clocks' event reasons mean.
gpu::Throttle throttle_of(unsigned long long reasons);

}  // namespace sweetspot::probe::nvml
