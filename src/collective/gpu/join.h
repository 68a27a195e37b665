#pragma once
#include <memory>
#include <string>

#include "collective/group.h"

namespace sweetspot::collective {

// How ranks sum what is on their GPUs.
struct GpuRanks {
  std::unique_ptr<GpuGroup> group;
  int sharing = 1;           // ranks on this one's GPU, including it
  std::string why_not_nccl;  // empty: NCCL sums
};

// Every rank of `ranks`, which must outlive the result, with the number of its GPU: over NCCL, or
// through host memory if two of them share a GPU or one has no NCCL.
GpuRanks join_gpus(Group& ranks, int gpu);

}  // namespace sweetspot::collective
