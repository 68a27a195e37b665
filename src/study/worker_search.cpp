#include "study/worker_search.h"

#include <algorithm>

namespace sweetspot::study {
namespace {

// Less than this is noise, or not worth another process.
constexpr double worth_more_workers = 1.05;
// Of a step's time: below it no worker can gain what is worth one.
constexpr double short_wait_share = 0.05;

const trial::Trial* trial_of(Loop& loop, const trial::Setting& setting) {
  for (const trial::Trial& trial : loop.trials())
    if (trial.setting == setting) return &trial;
  return loop.may_go_on() ? loop.run(setting) : nullptr;
}

}  // namespace

advise::WorkerSearch search_workers(Loop& loop, const trial::Trial& chosen, int most_workers) {
  trial::Setting setting = chosen.setting;
  double speed = chosen.samples_per_second->mean;
  advise::WorkerSearch search;
  search.workers = setting.workers;
  search.tried.push_back({setting.batch, setting.workers, speed});
  if (advise::data_wait_share(chosen).value_or(1) < short_wait_share) return search;
  while (setting.workers < most_workers) {
    setting.workers = std::min(std::max(1, 2 * setting.workers), most_workers);
    const trial::Trial* trial = trial_of(loop, setting);
    if (!trial || !trial->samples_per_second) break;
    const double now = trial->samples_per_second->mean;
    search.tried.push_back({setting.batch, setting.workers, now});
    if (now < worth_more_workers * speed) break;
    search.workers = setting.workers, speed = now;
  }
  return search;
}

}  // namespace sweetspot::study
