#include "engine/cuda/kernels/chip.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "engine/cuda/kernels/early_start.h"

namespace sweetspot::engine::cuda {
namespace {

thread_local int whole_predecessors = 0;

// Compute capability times ten: 80 for 8.0; 0 unless set in the environment.
int wanted_capability() {
  const char* text = std::getenv("SWEETSPOT_CUDA_CAPABILITY");
  if (!text) return 0;
  return static_cast<int>(10 * std::strtod(text, nullptr) + 0.5);
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  cudaDeviceGetAttribute(&value, which, device);
  return value;
}

std::vector<Chip> ask_all() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) cudaGetLastError(), count = 0;
  std::vector<Chip> chips;
  for (int i = 0; i < count; ++i) {
    Chip chip;
    chip.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, i);
    chip.shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, i);
    const int major = attribute(cudaDevAttrComputeCapabilityMajor, i);
    chip.programmatic = major >= 9;
    chip.warpgroups = major == 9 && attribute(cudaDevAttrComputeCapabilityMinor, i) == 0;
    if (const int wanted = wanted_capability(); wanted != 0 && wanted < 90) {
      constexpr int of_80 = 163 * 1024, of_86 = 99 * 1024;
      chip.shared_bytes = std::min(chip.shared_bytes, wanted == 80 ? of_80 : of_86);
      chip.programmatic = chip.warpgroups = false;
    }
    chips.push_back(chip);
  }
  return chips;
}

}  // namespace

Chip chip_of(int device) {
  static const std::vector<Chip> all = ask_all();
  const auto i = static_cast<std::size_t>(device);
  return i < all.size() ? all[i] : Chip{};
}

Chip current_chip() {
  int device = 0;
  cudaGetDevice(&device);
  Chip chip = chip_of(device);
  chip.programmatic = chip.programmatic && whole_predecessors == 0;
  return chip;
}

WholePredecessors::WholePredecessors() { ++whole_predecessors; }
WholePredecessors::~WholePredecessors() { --whole_predecessors; }

}  // namespace sweetspot::engine::cuda
