#include "stats/linear_fit.h"

#include <cmath>

#include "stats/quantile.h"

namespace sweetspot::stats {

std::optional<LinearFit> fit_line(std::span<const LinePoint> points) {
  double weights = 0, mean_x = 0, mean_y = 0;
  for (const LinePoint& point : points) {
    weights += point.weight;
    mean_x += point.weight * point.x, mean_y += point.weight * point.y;
  }
  if (!(weights > 0)) return std::nullopt;
  mean_x /= weights, mean_y /= weights;
  double spread = 0, together = 0;
  for (const LinePoint& point : points) {
    const double x = point.x - mean_x;
    spread += point.weight * x * x;
    together += point.weight * x * (point.y - mean_y);
  }
  if (!(spread > 0)) return std::nullopt;
  const double slope = together / spread, intercept = mean_y - slope * mean_x;
  const double degrees = static_cast<double>(points.size()) - 2;
  if (degrees < 1) return LinearFit{intercept, slope};
  double squares = 0;
  for (const LinePoint& point : points)
    squares += point.weight * square(point.y - intercept - slope * point.x);
  const double variance = squares / degrees * (1 / weights + mean_x * mean_x / spread);
  const double half = t95(degrees) * std::sqrt(variance);
  return LinearFit{intercept, slope, Interval{intercept, intercept - half, intercept + half}};
}

}  // namespace sweetspot::stats
