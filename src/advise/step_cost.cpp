#include <algorithm>
#include <numeric>

#include "advise/advise.h"
#include "stats/linear_fit.h"

namespace sweetspot::advise {

double StepCost::fixed_share(std::int64_t batch) const {
  const double step = fixed_seconds + per_sample_seconds * static_cast<double>(batch);
  return step > 0 ? fixed_seconds / step : 0;
}

std::optional<double> data_wait_share(const trial::Trial& trial) {
  if (!trial.phases) return std::nullopt;
  const double step = std::accumulate(trial.phases->begin(), trial.phases->end(), 0.0);
  if (step <= 0) return std::nullopt;
  return (*trial.phases)[static_cast<std::size_t>(trial::Phase::data_wait)] / step;
}

std::optional<StepCost> step_cost(std::span<const trial::Trial> trials) {
  std::vector<const trial::Trial*> list;
  for (const trial::Trial& trial : trials) list.push_back(&trial);
  return step_cost_of(list);
}

std::optional<StepCost> step_cost_of(std::span<const trial::Trial* const> trials) {
  std::vector<stats::LinePoint> points;
  for (const trial::Trial* each : trials) {
    const trial::Trial& trial = *each;
    if (trial.outcome != trial::Outcome::ok || !trial.samples_per_second) continue;
    const auto batch = static_cast<double>(trial.setting.batch);
    const double step = batch / trial.samples_per_second->mean;
    const double seconds = step * (1 - data_wait_share(trial).value_or(0));
    // The noise of a step time is a share of it: each point counts alike whatever its batch.
    if (seconds > 0) points.push_back({batch, seconds, 1 / (seconds * seconds)});
  }
  const auto line = stats::fit_line(points);
  if (!line) return std::nullopt;
  return StepCost{std::max(0.0, line->intercept()), std::max(0.0, line->slope())};
}

}  // namespace sweetspot::advise
