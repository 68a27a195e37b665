#include "engine/cpu/tensor.h"

#include <algorithm>

namespace sweetspot::engine::cpu {

std::vector<std::int32_t> keras_positions(const Extent& extent) {
  std::vector<std::int32_t> positions;
  positions.reserve(static_cast<std::size_t>(extent.positions() * extent.channels));
  for (std::int64_t at = 0; at < extent.positions(); ++at)
    for (std::int64_t c = 0; c < extent.channels; ++c)
      positions.push_back(
          static_cast<std::int32_t>(c / unit * extent.plane() + at * unit + c % unit));
  return positions;
}

void clear_padding(const Extent& e, float* sample) {
  const std::int64_t used = e.channels - (e.units() - 1) * unit;
  if (used == unit) return;
  float* last = sample + (e.units() - 1) * e.plane();
  for (std::int64_t p = 0; p < e.positions(); ++p)
    std::fill(last + p * unit + used, last + (p + 1) * unit, 0.f);
}

}  // namespace sweetspot::engine::cpu
