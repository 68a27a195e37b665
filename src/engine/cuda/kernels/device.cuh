#pragma once
#include <cstdint>

#include "engine/cuda/kernels/params.h"

namespace sweetspot::engine::cuda {

// A kernel launched with programmatic stream serialization starts while its predecessor runs, and
// must not touch what that writes before this call. Every kernel lets its successor start only
// after its own wait: so when a kernel starts, all but its predecessor and those on branches have
// ended. It may read weights before it waits, unless it directly follows the update, and write what
// neither of those uses.
__device__ inline void wait_for_predecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Philox4x32-10, as in core/random.h.
__device__ inline uint4 philox(std::uint64_t seed, uint4 counter) {
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t a_high = __umulhi(0xD2511F53u, counter.x), a_low = 0xD2511F53u * counter.x;
    const std::uint32_t b_high = __umulhi(0xCD9E8D57u, counter.z), b_low = 0xCD9E8D57u * counter.z;
    counter = {b_high ^ counter.y ^ k0, b_low, a_high ^ counter.w ^ k1, a_low};
    k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
  }
  return counter;
}

// The four words that decide elements e, e + 16, e + 32 and e + 48 of a sample, e % 64 < 16. The
// counters are those of the CPU engine: element e takes word (e / 16) % 4 of counter
// (sample · ⌈size / 64⌉ + e / 64) · 16 + e % 16.
__device__ inline uint4 dropout_words(const DropoutMask& mask, std::uint32_t sample,
                                      std::uint32_t e) {
  constexpr std::uint32_t purpose = 3;  // core::Purpose::dropout
  const std::uint64_t counter =
      std::uint64_t{mask.first + sample} * mask.counters + std::uint64_t{e / 64} * 16 + e % 16;
  return philox(mask.seed,
                {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32),
                 mask.state->step + mask.ahead, purpose});
}

// Whether element `e` of sample `sample` survives.
__device__ inline bool survives(const DropoutMask& mask, std::uint32_t sample, std::uint32_t e) {
  const uint4 words = dropout_words(mask, sample, e);
  const std::uint32_t which = e / 16 % 4;
  const std::uint32_t word =
      which < 2 ? (which == 0 ? words.x : words.y) : (which == 2 ? words.z : words.w);
  return word >= mask.threshold;
}

// NaN passes, so that a diverged run shows it.
__device__ inline float rectified(float v) { return v < 0 ? 0.f : v; }
__device__ inline bool beats(float v, float best) { return v > best || v != v; }

}  // namespace sweetspot::engine::cuda
