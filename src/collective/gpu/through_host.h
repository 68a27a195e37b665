#pragma once
#include <memory>
#include <string>

#include "collective/group.h"

namespace sweetspot::collective {

// Sums values of the GPU in host memory: they are copied there, summed by `ranks`, which must
// outlive this group, and copied back, all in the order of the stream. Slower than NCCL, but ranks
// may share a GPU, and nothing has to be installed.
std::unique_ptr<GpuGroup> sum_through_host(Group& ranks, int gpu);

// The same for two ranks if and only if they are on the same GPU: its machine and its bus.
std::string gpu_name(int gpu);

}  // namespace sweetspot::collective
