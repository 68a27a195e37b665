#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "convergence/noise_scale.h"

namespace sweetspot::convergence {

// What the noise scale is at least, as far as the last observations tell: tr(Σ) over |G|² and its
// standard error. Where batches are far smaller than the noise scale, |G|² hardly stands out from
// its noise and the scale itself is not known for a long time; but that it does not stand out says
// that the scale is large.
class NoiseBound {
 public:
  void add(const GradientNorms& norms);  // left out where it says nothing
  // Nothing before some observations.
  std::optional<double> at_least() const;
  void reset() { last_.clear(), next_ = 0; }

 private:
  std::vector<GradientMoments> last_;
  std::size_t next_ = 0;  // to be replaced, once there are enough
};

}  // namespace sweetspot::convergence
