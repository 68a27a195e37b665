#include "study/tune.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "study/arrival_check.h"
#include "study/axis.h"
#include "study/loader_check.h"
#include "study/predict.h"
#include "study/rounds.h"
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

advise::CutShort cut_short(End end) {
  switch (end) {
    case End::none:
      return advise::CutShort::no;
    case End::stopped:
      return advise::CutShort::stopped;
    case End::budget:
      return advise::CutShort::budget;
    case End::store_failed:
      return advise::CutShort::store_failed;
    case End::device_lost:
      return advise::CutShort::device_lost;
  }
  return advise::CutShort::no;
}

// The trial of a batch that tells most of its phases.
const trial::Trial* trial_of(const std::vector<trial::Trial>& trials, std::int64_t batch) {
  for (const trial::Trial& t : trials)
    if (t.setting.batch == batch && t.outcome == trial::Outcome::ok && t.samples_per_second)
      return &t;
  return nullptr;
}

class Tuning {
 public:
  Tuning(workload::Workload& workload, store::Writer& writer, const TuneOptions& options,
         Observer& observer, const std::atomic<int>& stop)
      : workload_(workload),
        options_(options),
        limits_(options.limits),
        axis_{options.base, options.global_batch},
        loop_(workload, writer, options.loop, observer, stop),
        arrival_(workload) {
    if (const auto before = advise::from_json(writer.study().answer))
      limits_.previous = before->batch;
    facts_.roofline = options.roofline;
    facts_.cost = options.cost;
    facts_.global_batch = options.global_batch;
    facts_.has_loader = workload.has_loader();
    facts_.notes = options.notes;
    if (options.loop.budget) facts_.budget_seconds = options.loop.budget->count();
  }

  TuneResult run() {
    TuneResult result;
    result.message = search();
    arrival_.settle();
    look_for_the_batch();
    result.doubt = arrival_.doubt();
    if (options_.most_workers && !result.doubt) search_for_workers(result.message);
    const std::vector<trial::Trial> curve = axis_.on(loop_.trials());
    const auto decision = result.doubt ? std::nullopt : search::decide(curve, limits_, predict());
    if (decision) check_loader_of(curve, *decision);
    if (decision) check_kernels_at(decision->batch);
    facts_.cut_short = cut_short(loop_.end());
    if (decision) {
      result.recommendation = recommended(curve, *decision);
      loop_.set_answer(advise::to_json(*result.recommendation));
    }
    if (result.doubt) loop_.set_answer(advise::to_json(*result.doubt));
    loop_.close();
    result.status = status_of(loop_.end(), result.recommendation.has_value());
    if (result.doubt && result.status == Status::nothing_feasible)
      result.status = Status::batch_unconfirmed;
    if (!loop_.error().empty())
      result.message = loop_.error();
    else if (result.doubt)
      result.message = words(*result.doubt);
    else if (result.status == Status::nothing_feasible)
      result.message = why_nothing(curve, limits_, predict());
    else if (!result.recommendation)
      result.message = "nothing is known yet" +
                       (loop_.cut_off().empty() ? "" : ": " + core::printable(loop_.cut_off()));
    else if (result.status == Status::found)
      result.message.clear();
    result.trials = loop_.trials();
    result.resumed = loop_.resumed();
    result.spent = loop_.spent();
    result.facts = std::move(facts_);
    return result;
  }

 private:
  search::Predict predict() const { return predictor(workload_, axis_); }

  // Measures until the search is over; says why it is.
  std::string search() {
    const search::Predict predict = this->predict();
    if (workload_.opens_side_by_side() && limits_.objective != search::Objective::max_batch)
      return search_in_rounds(
          loop_, workload_, axis_, limits_, predict,
          [this](const std::vector<trial::Trial>& curve, const search::Decision& decision) {
            const auto made = recommended(curve, decision);
            return made ? advise::to_json(*made) : "";
          },
          options_.machine ? *options_.machine : measure::this_machine());
    look_for_the_batch();
    while (!arrival_.is_over() && loop_.may_go_on()) {
      const auto curve = axis_.on(loop_.trials());
      if (curve.size() >= most_trials) return fmt::format("{} trials were enough", most_trials);
      const search::Next next = search::next(curve, limits_, predict);
      if (!next.batch) {
        if (!arrival_.settle()) return next.reason;
        look_for_the_batch();
        continue;
      }
      loop_.run(axis_.at(*next.batch));
      look_for_the_batch();
      if (const auto known = axis_.on(loop_.trials()); !known.empty() && !arrival_.doubt())
        if (const auto decision = search::decide(known, limits_, predict)) {
          if (const auto made = recommended(known, *decision))
            loop_.set_answer(advise::to_json(*made));
          Standing standing;
          standing.decision = &*decision;
          loop_.observer().standing(standing);
        }
    }
    return "";
  }

  // What is above a clamp is neither tried nor recommended.
  void look_for_the_batch() {
    const search::ArrivalVerdict& verdict = arrival_.look(axis_.on(loop_.trials()), loop_);
    if (verdict.arrival != search::Arrival::clamped) return;
    limits_.max = std::max(limits_.min, std::min(limits_.max, *verdict.limit));
    facts_.clamp = verdict.clamp;
  }

  // At the fastest batch so far, since the chosen one may lie just where loading begins to limit;
  // other workers have another curve, with its own knee.
  void search_for_workers(std::string& message) {
    while (true) {
      const auto curve = axis_.on(loop_.trials());
      const auto decision = search::decide(curve, limits_, predict());
      const trial::Trial* fastest = decision ? trial_of(curve, decision->best_batch) : nullptr;
      if (!fastest) return;
      const advise::WorkerSearch found =
          search_workers(loop_, as_run(*fastest), *options_.most_workers);
      if (!facts_.worker_search) facts_.worker_search.emplace();
      facts_.worker_search->workers = found.workers;
      facts_.worker_search->tried.insert(facts_.worker_search->tried.end(), found.tried.begin(),
                                         found.tried.end());
      if (found.workers == axis_.base.workers) return;
      axis_.base.workers = found.workers;
      message = search();
    }
  }

  void check_loader_of(const std::vector<trial::Trial>& curve, const search::Decision& decision) {
    const trial::Trial* chosen = trial_of(curve, decision.batch);
    if (!chosen || !facts_.has_loader || options_.most_workers) return;
    facts_.limits = limits_;
    const auto limits = advise::bottlenecks(curve, facts_);
    if (limits[static_cast<std::size_t>(chosen - curve.data())] == advise::Bottleneck::data_loading)
      facts_.loader_check = check_loader(loop_, workload_, as_run(*chosen), facts_);
  }

  // Beside the answer, when all of it is known: whether it is one about the machine.
  void check_kernels_at(std::int64_t batch) {
    const advise::Roofline& roofline = options_.operations_roofline;
    if (loop_.end() != End::none || (!roofline.flops_per_second && !roofline.bytes_per_second))
      return;
    try {
      facts_.slow_kernel = advise::slow_kernel(workload_.operations(axis_.at(batch)), roofline);
    } catch (const core::Error&) {  // the answer stands without
    }
  }

  // A trial of the curve with the setting it was really run at.
  trial::Trial as_run(trial::Trial trial) const {
    trial.setting = axis_.at(trial.setting.batch);
    return trial;
  }

  std::optional<advise::Recommendation> recommended(const std::vector<trial::Trial>& curve,
                                                    const search::Decision& decision) {
    facts_.limits = limits_;
    facts_.predict_run = predict();
    facts_.largest_fitting = search::largest_fitting(curve, limits_, facts_.predict_run);
    auto made = advise::recommend(curve, decision, facts_);
    if (made && options_.command) made->command = options_.command(made->setting);
    return made;
  }

  workload::Workload& workload_;
  const TuneOptions& options_;
  search::Limits limits_;
  Axis axis_;
  Loop loop_;
  ArrivalCheck arrival_;
  advise::Facts facts_;
};

}  // namespace

std::string_view name(Status status) {
  switch (status) {
    case Status::found:
      return "found";
    case Status::nothing_feasible:
      return "nothing_feasible";
    case Status::batch_unconfirmed:
      return "batch_unconfirmed";
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
  return Tuning(workload, writer, options, observer, stop).run();
}

}  // namespace sweetspot::study
