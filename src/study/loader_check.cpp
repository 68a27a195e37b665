#include "study/loader_check.h"

#include <algorithm>

#include "study/predict.h"

namespace sweetspot::study {
namespace {

bool fits(const workload::Workload& workload, const trial::Setting& setting,
          const advise::Facts& facts) {
  const auto bytes = predictor(workload, {setting, {}})(setting.batch);
  return !bytes || !facts.limits.memory_limit || *bytes <= *facts.limits.memory_limit;
}

// The advice, with as many prefetched batches less as memory asks for.
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

const trial::Trial* known(const Loop& loop, const trial::Setting& setting) {
  for (const trial::Trial& trial : loop.trials())
    if (trial.setting == setting) return &trial;
  return nullptr;
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
  const trial::Trial* trial = known(loop, *setting);
  if (!trial && loop.may_go_on()) trial = loop.run(*setting);
  if (!trial) return std::nullopt;
  if (trial->samples_per_second) check.samples_per_second = trial->samples_per_second->mean;
  check.data_wait_share = advise::data_wait_share(*trial);
  check.memory_bytes = trial->memory_measured ? trial->memory_measured : trial->memory_predicted;
  return check;
}

}  // namespace sweetspot::study
