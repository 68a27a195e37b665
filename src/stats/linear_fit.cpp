#include "stats/linear_fit.h"

#include <cmath>

#include "stats/quantile.h"

namespace sweetspot::stats {

std::optional<LinearFit> fit_line(std::span<const LinePoint> points) {
  LinearFit fit;
  double mean_y = 0;
  for (const LinePoint& point : points) {
    fit.total_weight_ += point.weight;
    fit.centre_ += point.weight * point.x;
    mean_y += point.weight * point.y;
  }
  if (!(fit.total_weight_ > 0)) return std::nullopt;
  fit.centre_ /= fit.total_weight_;
  mean_y /= fit.total_weight_;
  double together = 0;
  for (const LinePoint& point : points) {
    const double x = point.x - fit.centre_;
    fit.spread_ += point.weight * x * x;
    together += point.weight * x * (point.y - mean_y);
  }
  if (!(fit.spread_ > 0)) return std::nullopt;
  fit.slope_ = together / fit.spread_;
  fit.intercept_ = mean_y - fit.slope_ * fit.centre_;
  fit.degrees_ = static_cast<double>(points.size()) - 2;
  if (fit.degrees_ < 1) return fit;
  double squares = 0;
  for (const LinePoint& point : points)
    squares += point.weight * std::pow(point.y - fit.at(point.x), 2);
  fit.variance_ = squares / fit.degrees_;
  return fit;
}

std::optional<Interval> LinearFit::predict(double x, double weight) const {
  if (!variance_) return std::nullopt;
  const double distance = x - centre_;
  const double variance =
      *variance_ * (1 / weight + 1 / total_weight_ + distance * distance / spread_);
  const double half = t95(degrees_) * std::sqrt(variance);
  return Interval{at(x), at(x) - half, at(x) + half};
}

}  // namespace sweetspot::stats
