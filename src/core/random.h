#pragma once
#include <array>
#include <cmath>
#include <cstdint>

namespace sweetspot::core {

// The purpose of a stream of random numbers; part of its key, so that streams never share numbers.
enum class Purpose : std::uint32_t {
  weights = 1,
  shuffle = 2,
  dropout = 3,
  augment = 4,
  synthetic = 5,
  curves = 6,  // drawn from a fitted model
  rounds = 7   // the order of interleaved batches, and resampling them
};

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): four words
// from a counter and a key, so that any element of any stream is computed independently of threads,
// batch order and engine.
struct Philox {
  using Words = std::array<std::uint32_t, 4>;

  static constexpr Words at(std::uint64_t seed, Words counter) {
    std::uint32_t k0 = static_cast<std::uint32_t>(seed),
                  k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
      counter = {
          static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ k0, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ k1, static_cast<std::uint32_t>(a)};
      k0 += 0x9E3779B9, k1 += 0xBB67AE85;
    }
    return counter;
  }
};

// One stream: keyed by (seed, purpose, epoch or step, stream), indexed by 64-bit position / 4.
class Random {
 public:
  constexpr Random(std::uint64_t seed, Purpose purpose, std::uint32_t epoch,
                   std::uint32_t stream = 0)
      : seed_(seed ^ (std::uint64_t{stream} << 32)),
        purpose_(static_cast<std::uint32_t>(purpose)),
        epoch_(epoch) {}

  // Four independent 32-bit words.
  constexpr Philox::Words words(std::uint64_t index) const {
    return Philox::at(seed_, {static_cast<std::uint32_t>(index),
                              static_cast<std::uint32_t>(index >> 32), epoch_, purpose_});
  }
  // In [0, 1), 24 bits.
  constexpr float uniform(std::uint64_t index) const {
    return static_cast<float>(words(index)[0] >> 8) * 0x1p-24f;
  }
  // Below `bound`, with negligible bias (bound < 2^32 of 2^64).
  constexpr std::uint64_t below(std::uint64_t index, std::uint64_t bound) const {
    const auto w = words(index);
    __extension__ using Wide = unsigned __int128;  // the keyword keeps -Wpedantic quiet
    return static_cast<std::uint64_t>(Wide{std::uint64_t{w[0]} << 32 | w[1]} * bound >> 64);
  }
  // Standard normal by Box-Muller.
  double normal(std::uint64_t index) const {
    const auto w = words(index);
    const double u = (w[0] + 1.0) * 0x1p-32, v = w[1] * 0x1p-32;
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
  }

 private:
  std::uint64_t seed_;
  std::uint32_t purpose_, epoch_;
};

}  // namespace sweetspot::core
