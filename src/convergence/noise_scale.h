#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "stats/interval.h"

namespace sweetspot::convergence {

// Squared norms of the gradient of the same loss at the same weights, over two numbers of samples:
// they determine the gradient noise. Each is a mean over the batches of its kind if there are
// several.
struct GradientNorms {
  double small_batch = 0, small_squared = 0;
  double big_batch = 0, big_squared = 0;
};

// |G|², the squared norm of the gradient over all data, and tr(Σ), the variance of a single
// sample's gradient, summed over the weights. One pair of norms gives unbiased estimates of both
// (McCandlish et al. 2018, arXiv 1812.06162, appendix A.1); either may be negative by chance.
struct GradientMoments {
  double gradient_squared = 0, trace = 0;
};
// nullopt if the two batches have the same size, or a norm is NaN.
std::optional<GradientMoments> gradient_moments(const GradientNorms& norms);

struct NoiseEstimate {
  double gradient_squared = 0, trace = 0;
  // tr(Σ)/|G|² in samples, with its 95% interval; nullopt while |G|² may be 0.
  std::optional<stats::Interval> samples;
  // Then: a bound that it exceeds with 95% probability. nullopt if there are too few observations,
  // or if tr(Σ) is indistinguishable from 0 too.
  std::optional<double> at_least;
  double observations = 0;  // effective number of observations: fewer than added if old ones fade
};

// Averages |G|² and tr(Σ) separately over steps, then divides: the mean of per-step ratios is
// biased, and has no variance if |G|² comes close to 0.
class NoiseScale {
 public:
  // Each observation counts `decay` times the next one, the first ones less than that, and the
  // weights are normalised, so that the first ones are not biased to 0. With 1 it is the plain
  // mean, for fixed weights; less than that follows training.
  explicit NoiseScale(double decay = 0.95) : decay_(decay) {}

  void add(const GradientNorms& norms);           // ignored if invalid
  std::optional<NoiseEstimate> estimate() const;  // nothing before the first one

 private:
  double decay_;
  double added_ = 0;
  double weight_ = 0, squared_weights_ = 0;
  double gradient_ = 0, trace_ = 0;                             // weighted means
  double gradient_spread_ = 0, trace_spread_ = 0, common_ = 0;  // weighted sums of squares
};

// A lower bound of the noise scale from the last observations: tr(Σ) over |G|² plus its standard
// error. If batches are far smaller than the noise scale, |G|² is hardly distinguishable from its
// noise and the scale itself stays unknown for a long time; but exactly that shows that the scale
// is large.
class NoiseBound {
 public:
  void add(const GradientNorms& norms);  // ignored if invalid
  // nullopt before enough observations.
  std::optional<double> at_least() const;
  void reset() { last_.clear(), next_ = 0; }

 private:
  std::vector<GradientMoments> last_;
  std::size_t next_ = 0;  // to be replaced, once there are enough
};

}  // namespace sweetspot::convergence
