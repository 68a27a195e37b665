#include "cli/commands/tune_to_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/live/live_study.h"
#include "cli/output.h"
#include "cli/show_run.h"
#include "cli/signals.h"
#include "cli/study_workload.h"
#include "core/error.h"
#include "learning/time_to_target.h"
#include "store/store.h"
#include "study/axis.h"
#include "workload/command/template.h"

namespace sweetspot::cli {
namespace {

// Doublings from the smallest batch, as long as they fit and their speed is known.
std::vector<std::int64_t> batches_of(const Tuned& tuned, const workload::Training& training) {
  const tuning::TuneResult& speeds = tuned.speeds;
  const search::Limits& limits = speeds.facts.limits;
  std::int64_t largest = 0, too_large = limits.max + 1;
  for (const trial::Trial& trial : speeds.trials) {
    if (trial.outcome == trial::Outcome::ok) largest = std::max(largest, trial.setting.batch);
    if (trial.outcome == trial::Outcome::out_of_memory)
      too_large = std::min(too_large, trial.setting.batch);
  }
  const std::int64_t most =
      std::min({limits.max, tuned.flags.max.value_or(2 * largest), too_large - 1});
  std::vector<std::int64_t> batches;
  std::int64_t batch = limits.multiple_of;
  while (batch < tuned.options.limits.min) batch *= 2;
  for (; batch <= most; batch *= 2) {
    trial::Setting setting = speeds.recommendation()->setting;
    setting.batch = batch;
    const auto memory = training.predict(setting);
    if (memory && limits.memory.limit && *memory > *limits.memory.limit) break;
    batches.push_back(batch);
  }
  if (batches.empty()) batches.push_back(speeds.recommendation()->setting.batch);
  return batches;
}

// What to do about a metric that never appears.
std::string way_out(const TargetFlags& flags, bool of_program) {
  if (of_program)
    return "; let the program report it with sweetspot.metric() or print it, and name it with "
           "--metric-regex";
  return flags.target->metric == trial::Target::Metric::accuracy
             ? "; this model is not trained to classify: use --for loss=0.1"
             : "; leave out --no-eval";
}

learning::TargetOptions options_of(const Tuned& tuned, const StudyWorkload& opened) {
  const TargetFlags& flags = tuned.flags.target;
  const StudyFlags& study = tuned.flags.study;
  const advise::Recommendation& fastest = *tuned.speeds.recommendation();
  learning::TargetOptions options;
  options.target = *flags.target;
  options.for_energy = flags.for_energy;
  options.base = fastest.setting;
  options.base.seed = opened.base.seed;
  options.base_batch = flags.base_batch;
  options.rule = flags.rule;
  options.sets_learning_rate =
      !study.command.given() || workload::command::used(study.command.options).contains("{lr}");
  options.adaptive_optimizer = is_adaptive(study.native.options.optimizer.kind);
  options.candidates =
      search::speeds_at(study::Axis{fastest.setting, {}}.on(tuned.speeds.trials),
                        batches_of(tuned, *opened.training), tuned.speeds.facts.limits);
  options.throughput_batch = fastest.batch;
  options.finalists = flags.finalists;
  options.seeds = flags.seeds;
  options.most_epochs = flags.most_epochs;
  options.command = tuned.options.command;
  options.if_metric_missing = way_out(flags, study.command.given());
  if (study.budget)
    options.loop.budget = std::max(core::Seconds(0), *study.budget - tuned.speeds.spent);
  return options;
}

}  // namespace

int tune_to_target(const Tuned& tuned, store::Store& store, Output& output) {
  const TargetFlags& flags = tuned.flags.target;
  const StudyFlags& study = tuned.flags.study;
  const StudyWorkload opened = open_training(study);
  const learning::TargetOptions options = options_of(tuned, opened);
  advise::Request request = tuned.request;
  request.workload = opened.identity;
  request.towards = {*flags.target, flags.for_energy, flags.most_epochs, flags.base_batch,
                     flags.rule};
  const std::unique_ptr<store::Writer> writer =
      open_study(store, advise::study_key(opened.title, request), opened, study);
  study::Result result;
  {
    LiveStudy live(
        {"training " + opened.title, study.precision, {}, study.tolerance, study.verbose});
    result =
        learning::reach_target(*opened.training, *writer, options, live, CountSignals::presses());
  }
  result.spent += tuned.speeds.spent;
  return show_run(study, shown_run(store, writer->study(), result),
                  {.page = !tuned.flags.no_report}, output);
}

}  // namespace sweetspot::cli
