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
class LinearFit {
 public:
  double intercept() const { return intercept_; }
  double slope() const { return slope_; }
  double at(double x) const { return intercept_ + slope_ * x; }
  // The 95% interval of another observation of this weight at x: the line's own uncertainty and the
  // observation's. Unknown with two points, through which any line is perfect.
  std::optional<Interval> predict(double x, double weight = 1) const;

 private:
  friend std::optional<LinearFit> fit_line(std::span<const LinePoint> points);
  double intercept_ = 0, slope_ = 0;
  double centre_ = 0, total_weight_ = 0, spread_ = 0;
  std::optional<double> variance_;  // of an observation of weight 1
  double degrees_ = 0;
};

// nullopt below two different x.
std::optional<LinearFit> fit_line(std::span<const LinePoint> points);

}  // namespace sweetspot::stats
