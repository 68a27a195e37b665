#include "engine/cpu/penalty.h"

#include <algorithm>
#include <numeric>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

Penalties::Penalties(const WeightLayout& layout) {
  constexpr std::int64_t block = 1 << 16;
  for (const PackedVariable& variable : layout.variables()) {
    const model::Regularizer& r = variable.parameter.regularizer;
    if (!r) continue;
    const Stretch all{variable.offset, round_up(variable.floats(), unit), static_cast<float>(r.l1),
                      static_cast<float>(r.l2)};
    stretches_.push_back(all);
    for (std::int64_t at = 0; at < all.count; at += block)
      blocks_.push_back({all.offset + at, std::min(block, all.count - at), all.l1, all.l2});
  }
  sums_.resize(blocks_.size());
}

double Penalties::loss(const float* weights, Team& team) {
  const auto count = static_cast<std::int64_t>(blocks_.size());
  auto work = [&](int member) {
    const Range mine = share(count, member, team.size());
    for (std::int64_t i = mine.begin; i < mine.end; ++i) {
      const Stretch& b = blocks_[static_cast<std::size_t>(i)];
      sums_[static_cast<std::size_t>(i)] =
          kernels().layers.penalty(b.l1, b.l2, weights + b.offset, b.count);
    }
  };
  if (count > 0) team.run(work);
  return std::accumulate(sums_.begin(), sums_.end(), 0.0);
}

void Penalties::add_gradients(const float* weights, std::int64_t offset, std::int64_t count,
                              float* gradients) const {
  for (const Stretch& s : stretches_) {
    const std::int64_t begin = std::max(offset, s.offset),
                       end = std::min(offset + count, s.offset + s.count);
    if (begin < end)
      kernels().layers.add_penalty(s.l1, s.l2, weights + begin, end - begin,
                                   gradients + (begin - offset));
  }
}

}  // namespace sweetspot::engine::cpu
