#pragma once
#include <filesystem>

#include "probe/gpu/gpu.h"

namespace sweetspot::probe::amd {

// AMD's GPUs, as the amdgpu driver shows them in sysfs under this root. The driver does not list
// the processes of a device, nor count its energy.
gpu::Found find(const std::filesystem::path& root = "/");

}  // namespace sweetspot::probe::amd
