#pragma once
#include <string>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::trial {

// What a program that trains on several GPUs takes its batch for: that of all of them together, or
// of each. `unsaid` is taken for the first.
enum class BatchIs { unsaid, global, per_gpu };

// The one that a larger batch overflows first, by what it holds of what was free; nullptr: there is
// none, or nothing is known of any.
const GpuUse* fullest(const std::vector<GpuUse>& gpus);

// "cuda:0,1": what a trial on these GPUs has as its device. Of none: empty.
std::string device_of(const std::vector<GpuUse>& gpus);

// "cuda:0 (NVIDIA H200)".
std::string full_name(const GpuUse& gpu);

}  // namespace sweetspot::trial
