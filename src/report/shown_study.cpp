#include "report/shown_study.h"

#include <algorithm>
#include <tuple>

namespace sweetspot::report {

std::int64_t size_of(const trial::Trial& trial, const ShownStudy& study) {
  return study.recommendation() && study.recommendation()->global_batch
             ? trial.setting.micro_batch()
             : trial.setting.batch;
}

const advise::BatchRow* row_of(const trial::Trial& trial, const ShownStudy& study) {
  if (!study.recommendation()) return nullptr;
  const advise::Recommendation& made = *study.recommendation();
  const trial::Configuration &own = trial.setting.configuration,
                             &chosen = made.setting.configuration;
  const bool same_loader = own == own.with_loader_of(chosen);
  // Trials have the given learning rate, whatever the answer's is.
  const double given_rate =
      made.learning_rate ? made.learning_rate->base.rate : made.setting.learning_rate;
  // A loader that helped is recommended, but was tried at only one batch.
  const bool is_check = made.loader_check && check_helped(*made.loader_check);
  if (same_loader == is_check || !is_same_variant(own, chosen) ||
      trial.setting.learning_rate != given_rate)
    return nullptr;
  const auto found = std::ranges::find(made.rows, size_of(trial, study), &advise::BatchRow::batch);
  return found == made.rows.end() ? nullptr : &*found;
}

std::vector<Row> rows(const ShownStudy& study) {
  std::vector<Row> list;
  const auto bottlenecks = advise::bottlenecks(study.trials, study.facts);
  for (std::size_t i = 0; i < study.trials.size(); ++i) {
    const trial::Trial& trial = study.trials[i];
    const advise::BatchRow* row = row_of(trial, study);
    const bool is_told = row && trial.outcome == row->outcome;
    list.push_back({&trial, static_cast<std::int64_t>(i) + 1,
                    is_told ? row->limited_by : bottlenecks[i], study.doubt() != nullptr});
  }
  std::stable_sort(list.begin(), list.end(), [](const Row& a, const Row& b) {
    const trial::Setting &x = a.trial->setting, &y = b.trial->setting;
    return std::tie(x.batch, x.accumulation, x.configuration.workers, x.configuration) <
           std::tie(y.batch, y.accumulation, y.configuration.workers, y.configuration);
  });
  return list;
}

namespace {

advise::Facts facts_of(const ShownStudy& study, const advise::Request& request) {
  const advise::RunFacts known = advise::run_facts_in(study.environment_json);
  advise::Facts facts;
  facts.limits = advise::limits_of(request, known);
  facts.limits.memory.limit = memory::allowed(study.trials, facts.limits.memory);
  facts.roofline = known.roofline, facts.cost = known.cost;
  if (const advise::Recommendation* made = study.recommendation()) {
    facts.limits.memory.limit = made->memory_limit;
    facts.largest_fitting = made->largest_batch;
    facts.global_batch = made->global_batch;
  }
  return facts;
}

}  // namespace

ShownStudy shown_study(trial::Study study, const std::optional<RunInfo>& run) {
  const std::optional<advise::Request> known = advise::request_of(study.study_key);
  const advise::Request request = known.value_or(advise::Request());
  ShownStudy shown;
  if (study.id > 0) shown.number = std::to_string(study.id);
  shown.workload = advise::title_of(study.study_key, request);
  shown.answer = advise::answer_of(study);
  if (!study.answer.empty() && !advise::answer_from_json(study.answer))
    shown.answer.message = "this version cannot read the answer of this study; run tune again";
  shown.trials = std::move(study.trials);
  for (const trial::Trial& trial : shown.trials) shown.seconds += trial.seconds;
  if (request.kind == advise::Request::Kind::sweep) shown.swept_epochs = request.epochs;
  shown.environment_json = std::move(study.environment.json);
  shown.program = study.environment.program, shown.machine = study.environment.machine;
  shown.started_at = study.started_at;
  shown.running = study.running;
  if (run) {
    shown.answer.end = run->end, shown.answer.message = run->message;
    shown.resumed = run->resumed, shown.seconds = run->seconds;
  }
  shown.facts = facts_of(shown, request);
  return shown;
}

}  // namespace sweetspot::report
