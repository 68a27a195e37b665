#pragma once
#include <optional>
#include <span>

#include "stats/interval.h"

namespace sweetspot::stats {

struct LinePoint {
  double x = 0, y = 0;
  double weight = 1;  // one over the variance, up to a common factor
};

// y = intercept + slope·x by weighted least squares.
struct LinearFit {
  double intercept = 0, slope = 0;
  // At 95%. Unknown with two points, through which any line is perfect.
  std::optional<Interval> intercept_interval{};
};
// nullopt below two different x.
std::optional<LinearFit> fit_line(std::span<const LinePoint> points);

}  // namespace sweetspot::stats
