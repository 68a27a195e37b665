#include "report/answer.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sweetspot::report {

std::vector<Row> rows(const Answer& answer) {
  std::vector<Row> list;
  const auto bottlenecks = advise::bottlenecks(answer.trials, answer.facts);
  for (std::size_t i = 0; i < answer.trials.size(); ++i)
    list.push_back({&answer.trials[i], bottlenecks[i]});
  std::stable_sort(list.begin(), list.end(), [](const Row& a, const Row& b) {
    const trial::Setting &x = a.trial->setting, &y = b.trial->setting;
    return std::tie(x.batch, x.accumulation, x.workers) <
           std::tie(y.batch, y.accumulation, y.workers);
  });
  return list;
}

std::optional<Measured> measured(const Answer& answer) {
  // A batch that was measured more than once counts by its mean.
  std::map<std::tuple<std::int64_t, std::int64_t, int>, std::vector<double>> by_setting;
  for (const trial::Trial& trial : answer.trials)
    if (trial.outcome == trial::Outcome::ok && trial.samples_per_second)
      by_setting[{trial.setting.batch, trial.setting.accumulation, trial.setting.workers}]
          .push_back(trial.samples_per_second->mean);
  if (by_setting.empty()) return std::nullopt;
  std::map<std::int64_t, double> best_of_batch;
  for (const auto& [setting, speeds] : by_setting) {
    double sum = 0;
    for (const double speed : speeds) sum += speed;
    double& best = best_of_batch[std::get<0>(setting)];
    best = std::max(best, sum / static_cast<double>(speeds.size()));
  }
  Measured found;
  for (const auto& [batch, speed] : best_of_batch)
    if (speed > found.best_samples_per_second)
      found.best_batch = batch, found.best_samples_per_second = speed;
  const auto knee =
      std::find_if(best_of_batch.begin(), best_of_batch.end(), [&](const auto& point) {
        return point.second >= (1 - answer.facts.limits.tolerance) * found.best_samples_per_second;
      });
  found.knee_batch = knee->first, found.knee_samples_per_second = knee->second;
  return found;
}

}  // namespace sweetspot::report
