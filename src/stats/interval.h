#pragma once

namespace sweetspot::stats {

// An estimate with its 95% interval.
struct Interval {
  double mean = 0, low = 0, high = 0;
};

}  // namespace sweetspot::stats
