#include <algorithm>
#include <cmath>

#include "advise/advise.h"

namespace sweetspot::advise {
namespace {

constexpr double worth_hiding_share = 0.2;  // as for the bottleneck
// Loading times vary: workers that are just enough on average are too few half of the time.
constexpr double spare = 1.25;
// Each worker is a thread and each prefetched batch is memory.
constexpr double most_workers = 64;

}  // namespace

std::optional<LoaderAdvice> loader_advice(const trial::Trial& trial) {
  const std::optional<double> share = data_wait_share(trial);
  if (!share || *share < worth_hiding_share || !trial.samples_per_second) return std::nullopt;
  const double step = static_cast<double>(trial.setting.batch) / trial.samples_per_second->mean;
  const double wait = step * *share, work = step - wait;
  // Without workers the trainer loads, and waits for all of it. Workers that cannot keep up are all
  // busy all the time: that is how long one of them takes for a batch.
  const double load =
      trial.setting.configuration.workers == 0 ? wait : step * trial.setting.configuration.workers;
  const double needed = work > 0 ? std::ceil(spare * load / work) : most_workers;
  LoaderAdvice advice;
  advice.workers =
      std::max(static_cast<int>(std::min(needed, most_workers)),
               std::min(trial.setting.configuration.workers + 1, static_cast<int>(most_workers)));
  // Each worker fills its own batch while the trainer takes the next one that is ready.
  advice.prefetch = std::max({2, advice.workers + 1, trial.setting.configuration.prefetch});
  advice.hidden_share = *share;
  return advice;
}

}  // namespace sweetspot::advise
