#include "report/answer.h"

#include <algorithm>
#include <tuple>

#include "report/fastest.h"

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
  std::map<std::int64_t, double> speeds;
  for (const auto& [batch, trials] : fastest_by_batch(answer.trials))
    speeds[batch] = mean_samples_per_second(trials);
  return measured(speeds, answer.facts.limits.tolerance);
}

std::optional<Measured> measured(const std::map<std::int64_t, double>& samples_per_second_of_batch,
                                 double tolerance) {
  Measured found;
  for (const auto& [batch, speed] : samples_per_second_of_batch)
    if (speed > found.best_samples_per_second)
      found.best_batch = batch, found.best_samples_per_second = speed;
  const auto knee = std::ranges::find_if(samples_per_second_of_batch, [&](const auto& point) {
    return point.second >= (1 - tolerance) * found.best_samples_per_second;
  });
  if (knee == samples_per_second_of_batch.end()) return std::nullopt;
  found.knee_batch = knee->first, found.knee_samples_per_second = knee->second;
  return found;
}

}  // namespace sweetspot::report
