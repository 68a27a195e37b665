#pragma once
#include <algorithm>
#include <cstdint>

// Passes over single items: grid-stride loops.
namespace sweetspot::engine::cuda {

constexpr int each_threads = 256;

inline int blocks_for(std::int64_t items) {
  constexpr std::int64_t most_blocks = 1 << 14;
  return static_cast<int>(
      std::clamp<std::int64_t>((items + each_threads - 1) / each_threads, 1, most_blocks));
}

#define EACH(i, n)                                                                    \
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < (n); \
       i += std::int64_t{gridDim.x} * blockDim.x)

}  // namespace sweetspot::engine::cuda
