#include "search/memory_fit.h"

#include <algorithm>
#include <vector>

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

std::optional<double> MemoryFit::expected_bytes(std::int64_t batch) const {
  if (predict_)
    if (const auto bytes = predict_(batch)) return static_cast<double>(*bytes);
  const auto fit = line();
  if (!fit) return std::nullopt;
  return std::max(0.0, fit->at(static_cast<double>(batch)));
}

std::optional<double> MemoryFit::least_bytes(std::int64_t batch) const {
  if (predicted(batch)) return expected_bytes(batch);
  const auto fit = line();
  if (!fit) return std::nullopt;
  const double x = static_cast<double>(batch);
  if (const auto predicted_here = fit->predict(x)) return predicted_here->low;
  // Two sizes that hardly differ may differ by chance alone.
  constexpr double least_growth_share = 0.05;
  const double growth = measured_.rbegin()->second - measured_.begin()->second;
  if (growth < least_growth_share * measured_.rbegin()->second) return std::nullopt;
  return fit->at(x) - 0.1 * fit->slope() * (x - static_cast<double>(measured_.rbegin()->first));
}

std::optional<stats::LinearFit> MemoryFit::line() const {
  std::vector<stats::LinePoint> points;
  for (const auto& [batch, bytes] : measured_)
    points.push_back({static_cast<double>(batch), bytes});
  return stats::fit_line(points);
}

double MemoryFit::extrapolated(std::int64_t batch) const {
  if (const auto larger = measured_.lower_bound(batch); larger != measured_.end())
    return larger->second;  // a batch of at least this size takes no more
  const double x = static_cast<double>(batch);
  const double largest = static_cast<double>(measured_.rbegin()->first);
  const double known = measured_.rbegin()->second;
  // Whatever part of it is fixed, memory grows no faster than in proportion to the batch.
  const double proportional = known * x / largest;
  const auto fit = line();
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
