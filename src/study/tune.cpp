#include "study/tune.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "study/loader_check.h"
#include "study/predict.h"

namespace sweetspot::study {
namespace {

// A search that has not ended after so many trials never will.
constexpr std::size_t most_trials = 100;

trial::Setting at(trial::Setting base, std::int64_t batch) {
  base.batch = batch;
  return base;
}

// The loader check's trial is beside the curve.
std::vector<trial::Trial> on_the_curve(const std::vector<trial::Trial>& trials,
                                       const trial::Setting& base) {
  std::vector<trial::Trial> found;
  for (const trial::Trial& trial : trials)
    if (trial.setting == at(base, trial.setting.batch)) found.push_back(trial);
  return found;
}

std::string count(std::int64_t value) { return core::format_count(static_cast<double>(value)); }

std::string why_nothing(const std::vector<trial::Trial>& trials, const search::Limits& limits,
                        const search::Predict& predict) {
  const auto failed = std::find_if(trials.begin(), trials.end(), [](const trial::Trial& t) {
    return t.outcome != trial::Outcome::ok;
  });
  if (failed != trials.end())
    return fmt::format("no batch could be trained: batch {} ended as {}{}",
                       count(failed->setting.batch), name(failed->outcome),
                       failed->note.empty() ? "" : ": " + core::printable(failed->note));
  const auto least = predict(limits.min);
  if (least && limits.memory_limit && *least > *limits.memory_limit)
    return fmt::format(
        "no batch fits: batch {} takes {} and {} are allowed; use a smaller model or "
        "a larger --memory-limit",
        count(limits.min), core::format_bytes(*least), core::format_bytes(*limits.memory_limit));
  return fmt::format("no batch between {} and {} fits", count(limits.min), count(limits.max));
}

Status status_of(End end, bool found) {
  switch (end) {
    case End::none:
      return found ? Status::found : Status::nothing_feasible;
    case End::stopped:
      return Status::stopped;
    case End::budget:
      return Status::budget;
    case End::store_failed:
      return Status::store_failed;
  }
  return Status::found;
}

std::string why_ended(const Loop& loop, const LoopOptions& options) {
  switch (loop.end()) {
    case End::none:
      return "";
    case End::stopped:
      return "the search was stopped before its end";
    case End::budget:
      return fmt::format("the budget of {} ended before the search",
                         core::format_duration(*options.budget));
    case End::store_failed:
      return "the search ended with the store";
  }
  return "";
}

const trial::Trial* chosen_trial(const std::vector<trial::Trial>& trials, std::int64_t batch) {
  for (const trial::Trial& t : trials)
    if (t.setting.batch == batch && t.outcome == trial::Outcome::ok && t.samples_per_second)
      return &t;
  return nullptr;
}

// Measures until the search is over; says why it is.
std::string search_on(Loop& loop, const TuneOptions& options, const search::Predict& predict) {
  while (loop.may_go_on()) {
    const auto curve = on_the_curve(loop.trials(), options.base);
    if (curve.size() >= most_trials) return fmt::format("{} trials were enough", most_trials);
    const search::Next next = search::next(curve, options.limits, predict);
    if (!next.batch) return next.reason;
    loop.run(at(options.base, *next.batch));
  }
  return "";
}

}  // namespace

std::string_view name(Status status) {
  switch (status) {
    case Status::found:
      return "found";
    case Status::nothing_feasible:
      return "nothing_feasible";
    case Status::budget:
      return "budget";
    case Status::stopped:
      return "stopped";
    case Status::store_failed:
      return "store_failed";
  }
  return "";
}

TuneResult tune(workload::Workload& workload, store::Writer& writer, const TuneOptions& options,
                Observer& observer, const std::atomic<int>& stop) {
  const search::Predict predict = predictor(workload, options.base);
  Loop loop(workload, writer, options.loop, observer, stop);
  TuneResult result;
  result.message = search_on(loop, options, predict);

  std::vector<trial::Trial> curve = on_the_curve(loop.trials(), options.base);
  const auto choice = search::choose(curve, options.limits, predict);
  advise::Facts& facts = result.facts;
  facts.limits = options.limits;
  facts.roofline = options.roofline;
  facts.cost = options.cost;
  facts.largest_fitting = search::largest_fitting(curve, options.limits, predict);
  if (facts.largest_fitting) facts.largest_batch_bytes = predict(*facts.largest_fitting);
  const trial::Trial* chosen = choice ? chosen_trial(curve, choice->batch) : nullptr;
  if (chosen && advise::bottleneck(*chosen, curve, facts) == advise::Bottleneck::data_loading)
    facts.loader_check = check_loader(loop, workload, *chosen, facts);
  loop.close();

  facts.cut_short = why_ended(loop, options.loop);
  if (choice) result.recommendation = advise::recommend(curve, *choice, facts);
  result.status = status_of(loop.end(), result.recommendation.has_value());
  if (result.status == Status::store_failed)
    result.message = loop.store_error();
  else if (!result.recommendation)
    result.message = result.status == Status::nothing_feasible
                         ? why_nothing(curve, options.limits, predict)
                         : facts.cut_short + ", and nothing is known yet";
  else if (!facts.cut_short.empty())
    result.message = facts.cut_short;
  result.trials = loop.trials();
  result.resumed = loop.resumed();
  result.spent = loop.spent();
  return result;
}

}  // namespace sweetspot::study
