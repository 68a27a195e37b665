#pragma once
#include <optional>
#include <string>

#include "core/units.h"
#include "engine/cuda/cuda.h"

namespace sweetspot::workload::native {

// Where a run trains: the CPU, or one GPU.
struct Device {
  std::optional<int> gpu;  // its index; nothing: the CPU
  std::string model;       // "NVIDIA H200"
  core::Bytes memory = 0;  // all that the GPU has: decides whether a data set may stay there
};
// "cpu", "cuda:0". Here, so that who only names a device links no driver.
inline std::string name(const Device& device) {
  return device.gpu ? "cuda:" + std::to_string(*device.gpu) : "cpu";
}

// "cpu", "cuda", "cuda:1", or "auto": the first GPU that can be used if there is one, else the CPU.
// InputError, in one sentence, for a GPU that is not there or cannot be used.
Device choose_device(const std::string& asked);
Device choose_device(const std::string& asked, const engine::cuda::Availability& found);

// A GPU that need not be here, to plan for: as many bytes as it is said to have. Nothing when
// `asked` names none.
std::optional<Device> planned_gpu(const std::string& asked, core::Bytes memory);

// InputError for a name that is none. "auto" is no precision but a question: see precision.h.
engine::Precision precision_named(const std::string& word);

}  // namespace sweetspot::workload::native
