#pragma once
#include <memory>

#include "probe/gpu.h"
#include "probe/nvml/library.h"

namespace sweetspot::probe::nvml {

std::unique_ptr<gpu::Gpu> make_device(std::shared_ptr<const Library> library, Handle handle);

// What the clocks' event reasons mean.
gpu::Throttle throttle_of(unsigned long long reasons);

// SWEETSPOT_NVML if set, else libnvidia-ml.so.1 as found by the loader.
std::string default_library();

// NVIDIA's GPUs, through the library that comes with the driver. It is opened at run time: the
// program runs without it, and an old one answers what it can.
gpu::Found find(const std::string& library = default_library());

}  // namespace sweetspot::probe::nvml
