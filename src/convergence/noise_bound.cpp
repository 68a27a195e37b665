#include "convergence/noise_bound.h"

#include <cmath>

#include "stats/moments.h"

namespace sweetspot::convergence {
namespace {

constexpr std::size_t fewest_observations = 8, kept_observations = 64;

}  // namespace

void NoiseBound::add(const GradientNorms& norms) {
  const auto moments = gradient_moments(norms);
  if (!moments) return;
  if (last_.size() < kept_observations) return last_.push_back(*moments);
  last_[next_] = *moments;
  next_ = (next_ + 1) % kept_observations;
}

std::optional<double> NoiseBound::at_least() const {
  if (last_.size() < fewest_observations) return std::nullopt;
  stats::Moments gradient_squared, trace;
  for (const GradientMoments& one : last_)
    gradient_squared.add(one.gradient_squared), trace.add(one.trace);
  const double error =
      *gradient_squared.stddev() / std::sqrt(static_cast<double>(gradient_squared.count()));
  // One standard error: waiting for more means training for an epoch at a batch that is too small.
  const double most_gradient = gradient_squared.mean() + error;
  if (most_gradient <= 0 || trace.mean() <= 0) return std::nullopt;
  return trace.mean() / most_gradient;
}

}  // namespace sweetspot::convergence
