#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "cli/flags/study_flags.h"
#include "cli/flags/target_flags.h"
#include "cli/live/live_study.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/study_answer.h"
#include "cli/study_workload.h"
#include "core/error.h"
#include "learning/time_to_target.h"
#include "search/search.h"
#include "store/store.h"
#include "study/axis.h"
#include "study/study_key.h"
#include "workload/command/template.h"

namespace sweetspot::cli {
namespace {

// Doublings from the smallest batch, as long as they fit and their speed is known.
std::vector<std::int64_t> batches_of(const tuning::TuneOptions& tuned,
                                     const tuning::TuneResult& speeds,
                                     const workload::Training& training,
                                     const std::optional<std::int64_t>& asked_max) {
  const search::Limits& limits = speeds.facts.limits;
  std::int64_t largest = 0, too_large = limits.max + 1;
  for (const trial::Trial& trial : speeds.trials) {
    if (trial.outcome == trial::Outcome::ok) largest = std::max(largest, trial.setting.batch);
    if (trial.outcome == trial::Outcome::out_of_memory)
      too_large = std::min(too_large, trial.setting.batch);
  }
  const std::int64_t most = std::min({limits.max, asked_max.value_or(2 * largest), too_large - 1});
  std::vector<std::int64_t> batches;
  std::int64_t batch = limits.multiple_of;
  while (batch < tuned.limits.min) batch *= 2;
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

// With more seeds or finalists the study continues.
std::string towards(const TargetFlags& flags) {
  return nlohmann::json{{"metric", trial::name(flags.target->metric)},
                        {"value", flags.target->value},
                        {"energy", flags.for_energy},
                        {"most_epochs", flags.most_epochs},
                        {"base_batch", flags.base_batch},
                        {"rule", flags.rule ? nlohmann::json(convergence::name(*flags.rule))
                                            : nlohmann::json(nullptr)}}
      .dump();
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

}  // namespace

int tune_to_target(const TargetFlags& flags, const StudyFlags& study,
                   const tuning::TuneOptions& tuned, const tuning::TuneResult& speeds,
                   const std::optional<std::int64_t>& asked_max, bool leaves_report,
                   store::Store& store, Output& output) {
  StudyWorkload opened = open_training(study);
  const advise::Recommendation& fastest = *speeds.recommendation();
  learning::TargetOptions options;
  options.target = *flags.target;
  options.for_energy = flags.for_energy;
  options.base = fastest.setting;
  options.base.seed = opened.base.seed;
  options.base_batch = flags.base_batch;
  options.rule = flags.rule;
  options.sets_learning_rate =
      !study.command.given() || workload::command::used(study.command.options).lr;
  options.adaptive_optimizer = is_adaptive(study.native.options.optimizer.kind);
  const std::vector<std::int64_t> batches = batches_of(tuned, speeds, *opened.training, asked_max);
  options.candidates = search::speeds_at(study::Axis{fastest.setting, {}}.on(speeds.trials),
                                         batches, speeds.facts.limits);
  options.throughput_batch = fastest.batch;
  options.finalists = flags.finalists;
  options.seeds = flags.seeds;
  options.most_epochs = flags.most_epochs;
  options.command = tuned.command;
  options.if_metric_missing = way_out(flags, study.command.given());
  if (study.budget) options.loop.budget = std::max(core::Seconds(0), *study.budget - speeds.spent);
  study::Terms terms;
  terms.kind = "tune";
  terms.name = study.name;
  terms.limits = tuned.limits;
  put_memory_limits(study, terms);
  terms.threads = opened.threads;
  terms.program_major = program_major();
  terms.towards = towards(flags);
  const trial::StudyKey study_key = study::study_key(
      fmt::format("{} to {}", opened.title, words(*flags.target)), opened.identity, terms);
  const std::unique_ptr<store::Writer> writer = open_study(store, study_key, opened, study);
  study::Result result;
  {
    LiveStudy live(
        {"training " + opened.title, study.precision, {}, study.tolerance, study.verbose});
    result =
        learning::reach_target(*opened.training, *writer, options, live, CountSignals::presses());
  }
  report::Answer answer;
  answer.study = std::to_string(writer->study().id);
  answer.workload = opened.title;
  answer.take(result.answer);
  answer.trials = result.trials;
  answer.resumed = result.resumed;
  answer.seconds = result.spent.count() + speeds.spent.count();
  answer.facts = speeds.facts;
  answer.environment_json = store_environment(opened).json;
  const bool page = leaves_report && !result.trials.empty();
  const std::string url = store::store_url(study.db);
  print_answer(study, answer, page ? report_file(url, answer.study).string() : "", nullptr, output);
  if (!result.answer.message.empty())
    Output::talk(fmt::format("sweetspot: {}", result.answer.message));
  if (page) leave_report(std::move(answer), store, url);
  return exit_code(result.answer.end);
}

}  // namespace sweetspot::cli
