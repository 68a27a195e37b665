#pragma once
#include <vector>

#include "report/charts/svg.h"

namespace sweetspot::report {

// Values of an axis to pixels, and where its ticks are.
class SvgScale {
 public:
  // The pixel of the low end may be the larger one, as on a y-axis. `values` need not be finite.
  SvgScale(const SvgAxis& axis, const std::vector<double>& values, bool from_zero, double low_pixel,
           double high_pixel);
  double pixel(double value) const;
  bool shows(double value) const;  // finite and within
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  double place(double value) const;  // on a linear axis
  bool logarithmic_;
  double from_ = 0, to_ = 1, low_pixel_, high_pixel_;
  std::vector<double> ticks_;
};

}  // namespace sweetspot::report
