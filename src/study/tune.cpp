#include "study/tune.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "study/axis.h"
#include "study/loader_check.h"
#include "study/predict.h"
#include "study/worker_search.h"

namespace sweetspot::study {
namespace {

// A search that has not ended after so many trials never will.
constexpr std::size_t most_trials = 100;

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
    case End::device_lost:
      return Status::device_lost;
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
    case End::device_lost:
      return "the search ended with the device";
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
std::string search_on(Loop& loop, const TuneOptions& options, const Axis& axis,
                      const search::Predict& predict) {
  while (loop.may_go_on()) {
    const auto curve = axis.on(loop.trials());
    if (curve.size() >= most_trials) return fmt::format("{} trials were enough", most_trials);
    const search::Next next = search::next(curve, options.limits, predict);
    if (!next.batch) return next.reason;
    loop.run(axis.at(*next.batch));
  }
  return "";
}

// A trial of the curve with the setting it was really run at.
trial::Trial as_run(trial::Trial trial, const Axis& axis) {
  trial.setting = axis.at(trial.setting.batch);
  return trial;
}

// At the fastest batch so far: the chosen one may lie just where loading begins to limit.
std::optional<advise::WorkerSearch> search_workers_on(Loop& loop, const TuneOptions& options,
                                                      const Axis& axis,
                                                      const search::Predict& predict) {
  const auto curve = axis.on(loop.trials());
  const auto choice = search::choose(curve, options.limits, predict);
  const trial::Trial* fastest = choice ? chosen_trial(curve, choice->best_batch) : nullptr;
  if (!fastest) return std::nullopt;
  return search_workers(loop, as_run(*fastest, axis), *options.most_workers);
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
    case Status::device_lost:
      return "device_lost";
  }
  return "";
}

TuneResult tune(workload::Workload& workload, store::Writer& writer, const TuneOptions& options,
                Observer& observer, const std::atomic<int>& stop) {
  Axis axis{options.base, options.global_batch};
  const search::Predict predict = predictor(workload, axis);
  Loop loop(workload, writer, options.loop, observer, stop);
  TuneResult result;
  advise::Facts& facts = result.facts;
  result.message = search_on(loop, options, axis, predict);
  while (options.most_workers) {
    const auto found = search_workers_on(loop, options, axis, predict);
    if (!found) break;
    if (!facts.worker_search) facts.worker_search.emplace();
    facts.worker_search->workers = found->workers;
    facts.worker_search->tried.insert(facts.worker_search->tried.end(), found->tried.begin(),
                                      found->tried.end());
    if (found->workers == axis.base.workers) break;
    axis.base.workers = found->workers;  // another curve, with its own knee
    result.message = search_on(loop, options, axis, predict);
  }

  std::vector<trial::Trial> curve = axis.on(loop.trials());
  const auto choice = search::choose(curve, options.limits, predict);
  facts.global_batch = options.global_batch;
  facts.limits = options.limits;
  facts.roofline = options.roofline;
  facts.cost = options.cost;
  facts.largest_fitting = search::largest_fitting(curve, options.limits, predict);
  if (facts.largest_fitting) facts.largest_batch_bytes = predict(*facts.largest_fitting);
  const trial::Trial* chosen = choice ? chosen_trial(curve, choice->batch) : nullptr;
  facts.has_loader = workload.has_loader();
  if (chosen && facts.has_loader && !options.most_workers &&
      advise::bottleneck(*chosen, curve, facts) == advise::Bottleneck::data_loading)
    facts.loader_check = check_loader(loop, workload, as_run(*chosen, axis), facts);
  loop.close();

  facts.cut_short = why_ended(loop, options.loop);
  if (choice) result.recommendation = advise::recommend(curve, *choice, facts);
  if (result.recommendation && options.global_batch) {
    trial::Setting& setting = result.recommendation->setting;
    setting.accumulation = *options.global_batch / choice->batch;
    setting.batch = *options.global_batch;
  }
  result.status = status_of(loop.end(), result.recommendation.has_value());
  if (!loop.error().empty())
    result.message = loop.error();
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
