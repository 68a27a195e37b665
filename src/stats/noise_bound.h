#pragma once
#include <optional>

#include "stats/moments.h"
#include "stats/noise_scale.h"

namespace sweetspot::stats {

// What the noise scale is at least, with 95% confidence. Where batches are far smaller than the
// noise scale, |G|² hardly stands out from its noise and the scale itself is not known for a long
// time; but that it does not stand out says that the scale is large.
class NoiseBound {
 public:
  void add(const GradientNorms& norms);  // left out where it says nothing
  // Nothing before some observations.
  std::optional<double> at_least() const;
  void reset() { *this = {}; }

 private:
  Moments gradient_squared_, trace_;
};

}  // namespace sweetspot::stats
