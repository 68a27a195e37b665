#include "search/memory_fit.h"

#include <algorithm>
#include <vector>

#include "stats/linear_fit.h"

namespace sweetspot::search {

MemoryFit::MemoryFit(std::span<const trial::Trial> trials, const Predict& predict)
    : predict_(predict) {
  for (const trial::Trial& trial : trials)
    if (trial.outcome == trial::Outcome::ok && trial.memory_measured) {
      double& most = measured_[trial.setting.batch];
      most = std::max(most, static_cast<double>(*trial.memory_measured));
    }
}

std::optional<double> MemoryFit::most_bytes(std::int64_t batch) const {
  if (predict_)
    if (const auto bytes = predict_(batch)) return static_cast<double>(*bytes);
  if (measured_.empty()) return std::nullopt;
  return extrapolated(batch);
}

double MemoryFit::extrapolated(std::int64_t batch) const {
  if (const auto larger = measured_.lower_bound(batch); larger != measured_.end())
    return larger->second;  // a batch of at least this size takes no more
  const double x = static_cast<double>(batch);
  const double largest = static_cast<double>(measured_.rbegin()->first);
  const double known = measured_.rbegin()->second;
  // Whatever part of it is fixed, memory grows no faster than in proportion to the batch.
  const double proportional = known * x / largest;
  std::vector<stats::LinePoint> points;
  for (const auto& [measured_batch, bytes] : measured_)
    points.push_back({static_cast<double>(measured_batch), bytes});
  const auto fit = stats::fit_line(points);
  // Growth that cannot be told from none, as where memory comes in large pieces, proves nothing
  // about larger batches: twice the largest measured one is the next to ask.
  constexpr double least_growth_share = 1e-6;
  if (!fit || fit->slope() * largest < least_growth_share * known)
    return fit && x <= 2 * largest ? known : proportional;
  // Any line is perfect through two points: a tenth of the growth stands for what they hide.
  const auto predicted = fit->predict(x);
  const double upper =
      predicted ? predicted->high : fit->at(x) + 0.1 * fit->slope() * (x - largest);
  return std::clamp(upper, known, proportional);
}

}  // namespace sweetspot::search
