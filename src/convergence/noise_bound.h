#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "convergence/noise_scale.h"

namespace sweetspot::convergence {

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
