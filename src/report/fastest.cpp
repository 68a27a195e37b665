#include "report/fastest.h"

#include <algorithm>
#include <string>
#include <tuple>

namespace sweetspot::report {
namespace {

// All of a setting but its seed, which the speed does not depend on.
using Key = std::tuple<std::int64_t, std::string, int, int, double, std::string>;
Key key_of(const trial::Trial& trial) {
  const trial::Setting& s = trial.setting;
  return {s.accumulation, s.precision, s.workers, s.prefetch, s.learning_rate, trial.device};
}

void heed_contention(std::vector<const trial::Trial*>& trials) {
  const auto contended = [](const trial::Trial* trial) { return trial->contention.contended; };
  if (!std::ranges::all_of(trials, contended)) std::erase_if(trials, contended);
}

}  // namespace

double mean_samples_per_second(const std::vector<const trial::Trial*>& trials) {
  double sum = 0;
  for (const trial::Trial* trial : trials) sum += trial->samples_per_second->mean;
  return sum / static_cast<double>(trials.size());
}

TrialsOfBatch fastest_by_batch(std::span<const trial::Trial> trials) {
  std::map<std::int64_t, std::map<Key, std::vector<const trial::Trial*>>> by_setting;
  for (const trial::Trial& trial : trials)
    if (trial.outcome == trial::Outcome::ok && trial.samples_per_second)
      by_setting[trial.setting.batch][key_of(trial)].push_back(&trial);
  TrialsOfBatch fastest;
  for (auto& [batch, settings] : by_setting)
    for (auto& [key, of_setting] : settings) {
      heed_contention(of_setting);
      std::vector<const trial::Trial*>& best = fastest[batch];
      if (best.empty() || mean_samples_per_second(of_setting) > mean_samples_per_second(best))
        best = of_setting;
    }
  return fastest;
}

}  // namespace sweetspot::report
