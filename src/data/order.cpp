#include "data/order.h"

#include <numeric>
#include <utility>

#include "core/random.h"

namespace sweetspot::data {

void shuffle(std::span<std::uint32_t> order, std::uint64_t seed, std::uint32_t epoch) {
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  const core::Random random(seed, core::Purpose::shuffle, epoch);
  for (std::size_t left = order.size(); left > 1; --left)  // Fisher-Yates
    std::swap(order[left - 1], order[random.below(left - 1, left)]);
}

}  // namespace sweetspot::data
