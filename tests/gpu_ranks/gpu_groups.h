#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collective/group.h"

namespace sweetspot::tests {

// A way to sum on GPUs, of all ranks on the first one.
struct GpuKind {
  std::string name;
  std::function<std::unique_ptr<collective::GpuGroup>()> join;
};
inline void PrintTo(const GpuKind& kind, std::ostream* to) { *to << kind.name; }

// Those that work with this many ranks on one GPU.
std::vector<GpuKind> gpu_kinds();

}  // namespace sweetspot::tests
