#pragma once
#include <string>
#include <vector>

#include "trial/trial.h"

namespace sweetspot::trial {

// The one that a larger batch overflows first, by what it holds of what was free; nullptr: there is
// none, or nothing is known of any.
const GpuUse* fullest(const std::vector<GpuUse>& gpus);

// "cuda:0,1": what a trial on these GPUs has as its device. Of none: empty.
std::string device_of(const std::vector<GpuUse>& gpus);

// "cuda:0 (NVIDIA H200)".
std::string full_name(const GpuUse& gpu);

}  // namespace sweetspot::trial
