#include "tuning/answer_checks.h"

#include <algorithm>
#include <limits>
#include <new>
#include <ranges>

#include "core/error.h"
#include "core/text.h"
#include "stats/experiment.h"
#include "study/axis.h"

namespace sweetspot::tuning {
namespace {

// The answer does not depend on what cannot be measured in addition.
template <class Measure>
auto unless_it_fails(Loop& loop, Measure measure) -> decltype(measure()) {
  try {
    return measure();
  } catch (const core::DeviceLost& lost) {
    loop.device_lost(lost.what());
  } catch (const core::Error&) {
  } catch (const std::bad_alloc&) {
  }
  return std::nullopt;
}

core::Seconds within_budget(const Loop& loop, core::Seconds time) {
  return std::min(time, loop.left().value_or(time));
}

}  // namespace

std::optional<trial::GradientNoise> measure_noise(Loop& loop, workload::Workload& workload,
                                                  const advise::Recommendation& made,
                                                  const advise::LearningRateBase& base) {
  workload::NativeProbes* probes = workload.probes();
  if (!probes || !loop.may_go_on()) return std::nullopt;
  constexpr double share_of_time = 0.1;  // of the rounds', in addition
  const core::Seconds time(share_of_time *
                           experiment::limit_seconds(trial::on_gpu(workload.device())));
  trial::Setting setting = made.setting;
  setting.batch =
      std::min({base.batch, made.setting.batch, workload.about().samples.value_or(base.batch)});
  setting.accumulation = 1;
  setting.learning_rate = base.rate;
  return unless_it_fails(loop, [&] {
    return probes->gradient_noise(setting, made.setting.micro_batch(), within_budget(loop, time),
                                  loop.until().stop);
  });
}

std::vector<trial::RateRun> check_rate(Loop& loop, workload::Workload& workload,
                                       const advise::Recommendation& made) {
  workload::NativeProbes* probes = workload.probes();
  if (!probes) return {};
  const double per_second = made.samples_per_second / static_cast<double>(made.setting.batch);
  constexpr std::int64_t least_steps = 20;  // their losses are compared
  const auto steps = std::max(
      least_steps, static_cast<std::int64_t>(loop.options().measure.max_time.count() * per_second));
  std::vector<trial::RateRun> runs;
  for (const double factor : {0.5, 1., 2.}) {
    if (!loop.may_go_on()) return {};
    trial::Setting setting = made.setting;
    setting.learning_rate = factor * made.learning_rate->by_rule;
    const auto run =
        unless_it_fails(loop, [&] { return probes->try_rate(setting, steps, loop.until().stop); });
    if (!run) return {};
    runs.push_back(*run);
  }
  return loop.may_go_on() ? runs : std::vector<trial::RateRun>{};
}

std::optional<trial::Scaling> check_scaling(Loop& loop, workload::Workload& workload,
                                            const advise::Recommendation& made) {
  workload::NativeProbes* probes = workload.probes();
  if (!probes || !loop.may_go_on()) return std::nullopt;
  return unless_it_fails(loop, [&] {
    return probes->scaling(made.setting, within_budget(loop, loop.options().measure.max_time),
                           loop.until().stop);
  });
}

namespace {

// To the program's own end, if nothing shows what an epoch is.
std::int64_t updates_of_epoch(const workload::Workload& workload, std::int64_t batch,
                              std::optional<std::int64_t> steps_of_program) {
  // One more than an epoch has, so that everything between two epochs is run.
  if (steps_of_program) return *steps_of_program + 1;
  if (const auto samples = workload.about().samples) return (*samples + batch - 1) / batch + 1;
  return std::numeric_limits<std::int64_t>::max();
}

// The evaluation of a native model runs after the steps of its trial.
void add_evaluation(Loop& loop, workload::Workload& workload, trial::Trial& lasted) {
  workload::NativeProbes* probes = workload.probes();
  if (!probes) return;
  try {
    if (const auto memory = probes->evaluate(lasted.setting, loop.until().stop))
      lasted.memory_measured = std::max(lasted.memory_measured.value_or(0), *memory);
  } catch (const core::DeviceLost& lost) {
    loop.device_lost(lost.what());
  } catch (const core::OutOfMemory& refused) {
    lasted.outcome = trial::Outcome::out_of_memory, lasted.note = refused.what();
  } catch (const std::bad_alloc&) {
    lasted.outcome = trial::Outcome::out_of_memory;
    lasted.note = "the memory for its evaluation was refused";
  }
}

}  // namespace

std::string words(const Confirm& confirm) {
  return confirm.steps ? core::format_count(static_cast<double>(*confirm.steps)) + " steps"
                       : "an epoch";
}

std::optional<trial::Trial> run_to_confirm(Loop& loop, workload::Workload& workload,
                                           const Confirm& confirm, const trial::Setting& setting,
                                           std::optional<std::int64_t> steps_of_epoch) {
  measure::MeasureOptions options = loop.options().measure;
  options.updates =
      confirm.steps ? *confirm.steps : updates_of_epoch(workload, setting.batch, steps_of_epoch);
  // No time limit.
  options.max_time = core::Seconds(std::numeric_limits<double>::max());
  options.max_steps = std::numeric_limits<std::int64_t>::max();
  const trial::Trial* run = loop.run(setting, options);
  if (!run) return std::nullopt;
  trial::Trial lasted = *run;
  if (run->outcome == trial::Outcome::ok && !confirm.steps) add_evaluation(loop, workload, lasted);
  return lasted;
}

namespace {

// Of a whole run.
std::optional<core::Bytes> memory_at(const workload::Workload& workload,
                                     const trial::Setting& setting) {
  const search::Predict predict = study::predictor(workload, {setting, {}});
  return predict ? predict(setting.batch) : std::nullopt;
}

bool fits(const workload::Workload& workload, const trial::Setting& setting,
          const advise::Facts& facts) {
  const auto bytes = memory_at(workload, setting);
  return !bytes || !facts.limits.memory.limit || *bytes <= *facts.limits.memory.limit;
}

// The advice, with fewer prefetched batches if memory requires it.
std::optional<trial::Setting> advised(const workload::Workload& workload,
                                      const trial::Trial& chosen, const advise::Facts& facts) {
  const auto advice = advise::loader_advice(chosen);
  if (!advice) return std::nullopt;
  trial::Setting setting = chosen.setting;
  setting.configuration.workers = advice->workers,
  setting.configuration.prefetch = advice->prefetch;
  while (!fits(workload, setting, facts) && setting.configuration.prefetch > 1) {
    --setting.configuration.prefetch;
    setting.configuration.workers =
        std::min(setting.configuration.workers, setting.configuration.prefetch);
  }
  if (!fits(workload, setting, facts) || setting == chosen.setting) return std::nullopt;
  return setting;
}

// From the store, unless what it is compared with is from another hour, or run now; nullptr if no
// further trial may begin.
const trial::Trial* trial_beside(Loop& loop, const trial::Trial& compared,
                                 const trial::Setting& setting) {
  for (const trial::Trial& trial : std::views::reverse(loop.trials()))
    if (trial.setting == setting && trial.started_at >= compared.started_at) return &trial;
  return loop.may_go_on() ? loop.run(setting) : nullptr;
}

}  // namespace

std::optional<advise::LoaderCheck> check_loader(Loop& loop, const workload::Workload& workload,
                                                const trial::Trial& chosen,
                                                const advise::Facts& facts) {
  const auto setting = advised(workload, chosen, facts);
  if (!setting) return std::nullopt;
  advise::LoaderCheck check;
  check.workers = setting->configuration.workers, check.prefetch = setting->configuration.prefetch;
  check.samples_per_second_before = chosen.samples_per_second->mean;
  const trial::Trial* trial = trial_beside(loop, chosen, *setting);
  if (!trial) return std::nullopt;
  if (trial->samples_per_second) check.samples_per_second = trial->samples_per_second->mean;
  check.data_wait_share = advise::data_wait_share(*trial);
  check.memory_bytes = memory_at(workload, *setting);
  if (!check.memory_bytes)
    check.memory_bytes = trial->memory_measured ? trial->memory_measured : trial->memory_predicted;
  return check;
}

advise::WorkerSearch search_workers(Loop& loop, const trial::Trial& chosen, int most_workers) {
  trial::Setting setting = chosen.setting;
  double speed = chosen.samples_per_second->mean;
  advise::WorkerSearch search;
  search.workers = setting.configuration.workers;
  search.tried.push_back({setting.batch, setting.configuration.workers, speed});
  if (advise::data_wait_share(chosen).value_or(1) < experiment::noticeable_share) return search;
  while (setting.configuration.workers < most_workers) {
    setting.configuration.workers =
        std::min(std::max(1, 2 * setting.configuration.workers), most_workers);
    const trial::Trial* trial = trial_beside(loop, chosen, setting);
    if (!trial || !trial->samples_per_second) break;
    const double now = trial->samples_per_second->mean;
    search.tried.push_back({setting.batch, setting.configuration.workers, now});
    if (now < (1 + experiment::noticeable_share) * speed) break;
    search.workers = setting.configuration.workers, speed = now;
  }
  return search;
}

}  // namespace sweetspot::tuning
