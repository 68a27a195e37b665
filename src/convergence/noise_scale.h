#pragma once
#include <optional>

#include "stats/interval.h"

namespace sweetspot::convergence {

// Squared norms of the gradient of the same loss at the same weights, over samples of two numbers:
// what the noise of a gradient can be told from. Each is a mean over the batches of its kind where
// there are several.
struct GradientNorms {
  double small_batch = 0, small_squared = 0;
  double big_batch = 0, big_squared = 0;
};

// |G|², the squared norm of the gradient over all data, and tr(Σ), the variance of a single
// sample's gradient, summed over the weights. One pair of norms gives both without bias
// (McCandlish et al. 2018, arXiv 1812.06162, appendix A.1); either may come out below zero by
// chance.
struct GradientMoments {
  double gradient_squared = 0, trace = 0;
};
// Nothing where the two batches are the same size, or a norm is no number.
std::optional<GradientMoments> gradient_moments(const GradientNorms& norms);

struct NoiseEstimate {
  double gradient_squared = 0, trace = 0;
  // tr(Σ)/|G|² in samples, with its 95% interval; nothing while |G|² is not told apart from 0.
  std::optional<stats::Interval> samples;
  double observations = 0;  // that the averages rest on: fewer than were added where old ones fade
};

// Averages |G|² and tr(Σ) separately over steps, then divides: the mean of the ratios of steps is
// biased, and has no variance where |G|² comes close to 0.
class NoiseScale {
 public:
  // Each observation counts `decay` times what the next one does, the first ones less than that,
  // and the weights are divided by their sum, so that the first ones are not drawn to 0. With 1 it
  // is the plain mean, for weights that do not move; less than that follows training.
  explicit NoiseScale(double decay = 0.95) : decay_(decay) {}

  void add(const GradientNorms& norms);           // left out where it says nothing
  std::optional<NoiseEstimate> estimate() const;  // nothing before the first one

 private:
  double decay_;
  double added_ = 0;
  double weight_ = 0, squared_weights_ = 0;
  double gradient_ = 0, trace_ = 0;                             // weighted means
  double gradient_spread_ = 0, trace_spread_ = 0, common_ = 0;  // weighted sums of squares
};

}  // namespace sweetspot::convergence
