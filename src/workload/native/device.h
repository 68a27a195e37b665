#pragma once
#include <optional>
#include <string>

#include "core/units.h"
#include "engine/cuda/cuda.h"

namespace sweetspot::workload::native {

// Where a run trains: the CPU, or one GPU.
struct Device {
  std::optional<int> gpu;  // its index; nullopt: the CPU
  std::string model;       // "NVIDIA H200"
  core::Bytes memory = 0;  // the GPU's total: decides whether a data set may stay there
};
// "cpu", "cuda:0". In the header, so that naming a device links no driver.
inline std::string name(const Device& device) {
  return device.gpu ? "cuda:" + std::to_string(*device.gpu) : "cpu";
}

// "cpu", "cuda", "cuda:1", or "auto": the first usable GPU if there is one, else the CPU.
// InputError, in one sentence, for a GPU that does not exist or cannot be used.
Device choose_device(const std::string& asked);
Device choose_device(const std::string& asked, const engine::cuda::Availability& found);

// A GPU that need not exist, to plan for, with this much memory. nullopt if `asked` is not a GPU.
std::optional<Device> planned_gpu(const std::string& asked, core::Bytes memory);

// InputError for an unknown name. "auto" is not a precision: see precision.h.
engine::Precision precision_named(const std::string& word);

}  // namespace sweetspot::workload::native
