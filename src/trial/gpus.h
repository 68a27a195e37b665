#pragma once
#include <string>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::trial {

// What the batch of a program on several GPUs refers to: all of them together, or each. `unsaid`
// counts as the first.
enum class BatchIs { unsaid, global, per_gpu };

// The GPU that a larger batch overflows first, by its use of what was free; nullptr if there is
// none, or nothing is known.
const GpuUse* fullest(const std::vector<GpuUse>& gpus);

// "cuda:0,1": the device of a trial on these GPUs. Empty for none.
std::string device_of(const std::vector<GpuUse>& gpus);

// "cuda:0 (NVIDIA H200)".
std::string full_name(const GpuUse& gpu);

}  // namespace sweetspot::trial
