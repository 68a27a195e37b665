#include "convergence/noise_scale.h"

#include <algorithm>
#include <cmath>

#include "stats/moments.h"
#include "stats/quantile.h"

namespace sweetspot::convergence {
namespace {

constexpr double least_observations = 3;  // before a variance means anything

// For an interval |G|² must be above 0 by 1.7 times the half width of its own (99.9%). At batches
// far below the noise scale one in forty is above 0 by chance: only these would be told, and each
// would be far too low.
constexpr double certainly = 3;  // 1.7²

// The ratio of two means, by Fieller; nullopt unless the denominator's interval is certainly above
// 0, without which the ratio's is unbounded.
struct MeanPair {
  double numerator, denominator;
  double numerator_variance, denominator_variance, covariance;
};
std::optional<stats::Interval> fieller(const MeanPair& m, double t) {
  const double g = stats::square(t) * m.denominator_variance / stats::square(m.denominator);
  if (m.denominator <= 0 || !(certainly * g < 1)) return std::nullopt;
  const double ratio = m.numerator / m.denominator;
  if (m.denominator_variance == 0 && m.numerator_variance == 0)
    return stats::Interval{ratio, ratio, ratio};
  const double slope = m.denominator_variance > 0 ? m.covariance / m.denominator_variance : 0.0;
  const double inside = m.numerator_variance - 2 * ratio * m.covariance +
                        stats::square(ratio) * m.denominator_variance -
                        g * (m.numerator_variance - slope * m.covariance);
  const double centre = ratio - g * slope;
  const double reach = t / m.denominator * std::sqrt(std::max(inside, 0.0));
  return stats::Interval{ratio, (centre - reach) / (1 - g), (centre + reach) / (1 - g)};
}

// The least ratio, as a bound on one side. Fieller's interval are all ratios r with (numerator − r
// · denominator)² ≤ t² · its variance, a quadratic that is above 0 at r = 0: the bound is its least
// positive zero. There is one if the denominator's interval contains 0, so that the quadratic falls
// with large r, or if it is above 0.
std::optional<double> least_ratio(const MeanPair& m, double t) {
  const double t2 = stats::square(t);
  const double falls = stats::square(m.denominator) - t2 * m.denominator_variance;  // · r²
  const double slope = m.numerator * m.denominator - t2 * m.covariance;             // · −2r
  const double at_zero = stats::square(m.numerator) - t2 * m.numerator_variance;
  if (m.numerator <= 0 || !(at_zero > 0) || (falls > 0 && m.denominator <= 0)) return std::nullopt;
  const double root = std::sqrt(stats::square(slope) - falls * at_zero);
  // Without cancellation.
  const double ratio = slope > 0 ? at_zero / (slope + root) : (slope - root) / falls;
  return std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

constexpr std::size_t fewest_observations = 8, kept_observations = 64;

}  // namespace

std::optional<GradientMoments> gradient_moments(const GradientNorms& n) {
  if (!(n.small_batch > 0) || !(n.big_batch > n.small_batch)) return std::nullopt;
  const GradientMoments moments{
      (n.big_batch * n.big_squared - n.small_batch * n.small_squared) /
          (n.big_batch - n.small_batch),
      (n.small_squared - n.big_squared) / (1 / n.small_batch - 1 / n.big_batch)};
  if (!std::isfinite(moments.gradient_squared) || !std::isfinite(moments.trace))
    return std::nullopt;
  return moments;
}

void NoiseScale::add(const GradientNorms& norms) {
  const auto moments = gradient_moments(norms);
  if (!moments) return;
  // The gradient of the first steps is at least ten times that of an epoch later. So with decay,
  // the first observation is dropped once there is another, and the next ones fade sooner, weighted
  // 1, 3, 6, 10… until `decay` is slower.
  added_ += 1;
  const double decay = decay_ < 1 ? std::min(decay_, 1 - 2 / std::max(added_, 2.)) : 1;
  weight_ = decay * weight_ + 1;
  squared_weights_ = stats::square(decay) * squared_weights_ + 1;
  // Welford's recurrence, with weights.
  const double gradient = moments->gradient_squared - gradient_, trace = moments->trace - trace_;
  gradient_ += gradient / weight_, trace_ += trace / weight_;
  gradient_spread_ = decay * gradient_spread_ + gradient * (moments->gradient_squared - gradient_);
  trace_spread_ = decay * trace_spread_ + trace * (moments->trace - trace_);
  common_ = decay * common_ + gradient * (moments->trace - trace_);
}

std::optional<NoiseEstimate> NoiseScale::estimate() const {
  if (weight_ == 0) return std::nullopt;
  NoiseEstimate estimate{gradient_, trace_, std::nullopt, std::nullopt,
                         stats::square(weight_) / squared_weights_};
  if (estimate.observations < least_observations) return estimate;
  // Variances of the means: the sample's, unbiased for weights, over the effective number.
  const double to_mean =
      1 / (weight_ - squared_weights_ / weight_) * squared_weights_ / stats::square(weight_);
  const MeanPair means{trace_, gradient_, trace_spread_ * to_mean, gradient_spread_ * to_mean,
                       common_ * to_mean};
  const double t = stats::t95(estimate.observations - 1);
  if (const auto ratio = fieller(means, t))
    estimate.samples = stats::Interval{std::max(ratio->mean, 0.0), std::max(ratio->low, 0.0),
                                       std::max(ratio->high, 0.0)};
  else
    estimate.at_least = least_ratio(means, stats::t95_one_sided(estimate.observations - 1));
  return estimate;
}

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
