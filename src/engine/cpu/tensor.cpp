#include "engine/cpu/tensor.h"

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

}  // namespace sweetspot::engine::cpu
