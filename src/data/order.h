#pragma once
#include <cstdint>
#include <span>

namespace sweetspot::data {

// The order in which an epoch visits the samples: a permutation that depends on these alone.
void shuffle(std::span<std::uint32_t> order, std::uint64_t seed, std::uint32_t epoch);

}  // namespace sweetspot::data
