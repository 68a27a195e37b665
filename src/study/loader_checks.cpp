#include "study/loader_checks.h"

#include <algorithm>

#include "study/predict.h"

namespace sweetspot::study {
namespace {

// Less than this is noise, or not worth another process.
constexpr double worth_more_workers = 1.05;
// Share of a step's time: below it no worker can gain enough.
constexpr double short_wait_share = 0.05;

bool fits(const workload::Workload& workload, const trial::Setting& setting,
          const advise::Facts& facts) {
  const auto bytes = predictor(workload, {setting, {}})(setting.batch);
  return !bytes || !facts.limits.memory_limit || *bytes <= *facts.limits.memory_limit;
}

// The advice, with fewer prefetched batches if memory requires it.
std::optional<trial::Setting> advised(const workload::Workload& workload,
                                      const trial::Trial& chosen, const advise::Facts& facts) {
  const auto advice = advise::loader_advice(chosen);
  if (!advice) return std::nullopt;
  trial::Setting setting = chosen.setting;
  setting.workers = advice->workers, setting.prefetch = advice->prefetch;
  while (!fits(workload, setting, facts) && setting.prefetch > 1) {
    --setting.prefetch;
    setting.workers = std::min(setting.workers, setting.prefetch);
  }
  if (!fits(workload, setting, facts) || setting == chosen.setting) return std::nullopt;
  return setting;
}

// From the store, or run now; nullptr if no further trial may begin.
const trial::Trial* trial_of(Loop& loop, const trial::Setting& setting) {
  for (const trial::Trial& trial : loop.trials())
    if (trial.setting == setting) return &trial;
  return loop.may_go_on() ? loop.run(setting) : nullptr;
}

}  // namespace

std::optional<advise::LoaderCheck> check_loader(Loop& loop, const workload::Workload& workload,
                                                const trial::Trial& chosen,
                                                const advise::Facts& facts) {
  const auto setting = advised(workload, chosen, facts);
  if (!setting) return std::nullopt;
  advise::LoaderCheck check;
  check.workers = setting->workers, check.prefetch = setting->prefetch;
  check.samples_per_second_before = chosen.samples_per_second->mean;
  const trial::Trial* trial = trial_of(loop, *setting);
  if (!trial) return std::nullopt;
  if (trial->samples_per_second) check.samples_per_second = trial->samples_per_second->mean;
  check.data_wait_share = advise::data_wait_share(*trial);
  check.memory_bytes = trial->memory_measured ? trial->memory_measured : trial->memory_predicted;
  return check;
}

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
