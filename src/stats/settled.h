#pragma once
#include <span>

namespace sweetspot::stats {

// Whether a series of step times has left its warm-up: over its later half (6 to 64 values) there
// is no trend, or one too small to matter. The trend test (Mann-Kendall) counts ordered pairs, so
// that neither one slow step nor the noise distribution decides; `share` is how far the medians of
// the window's halves may differ although the trend is certain.
bool settled(std::span<const double> values, double share = 0.02);

// Mann-Kendall's z: above 1.96 the values rise, below −1.96 they fall, at 95%.
double trend(std::span<const double> values);

}  // namespace sweetspot::stats
