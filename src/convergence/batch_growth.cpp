#include "convergence/batch_growth.h"

#include <algorithm>
#include <stdexcept>

namespace sweetspot::convergence {

double sample_worth(double batch, double noise_scale) {
  return noise_scale > 0 ? 1 / (1 + batch / noise_scale) : 0;
}

double progress_per_second(const Rung& speed, double noise_scale) {
  return speed.samples_per_second * sample_worth(static_cast<double>(speed.batch), noise_scale);
}

std::int64_t grown_batch(std::span<const Rung> ladder, std::int64_t now, double noise_scale) {
  const auto here = std::ranges::find(ladder, now, &Rung::batch);
  if (here == ladder.end()) throw std::logic_error("a batch beside the ladder");
  const auto best = std::max_element(here, ladder.end(), [&](const Rung& a, const Rung& b) {
    return progress_per_second(a, noise_scale) < progress_per_second(b, noise_scale);
  });
  return best == here ? now : std::next(here)->batch;
}

}  // namespace sweetspot::convergence
