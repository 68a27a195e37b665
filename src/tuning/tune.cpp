#include "tuning/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>

#include "core/error.h"
#include "core/text.h"
#include "search/evidence.h"
#include "study/batch_use_check.h"
#include "study/rounds.h"
#include "study/axis.h"
#include "tuning/answer_checks.h"

namespace sweetspot::tuning {
namespace {

using advise::CutShort;
using study::Axis;

// The latest trial of a batch, since a study may be resumed on a machine that others use less; of
// those that know their phases, if any does.
const trial::Trial* trial_of(const std::vector<trial::Trial>& trials, std::int64_t batch) {
  const trial::Trial* latest = nullptr;
  for (const trial::Trial& t : std::views::reverse(trials)) {
    if (t.setting.batch != batch || t.outcome != trial::Outcome::ok || !t.samples_per_second)
      continue;
    if (t.phases) return &t;
    if (!latest) latest = &t;
  }
  return latest;
}

class Tuning {
 public:
  Tuning(workload::Workload& workload, store::Writer& writer, const TuneOptions& options,
         study::Observer& observer, const std::atomic<int>& stop)
      : workload_(workload),
        options_(options),
        limits_(options.limits),
        before_(advise::from_json(writer.study().answer)),
        loop_(workload, writer, options.loop, observer, stop),
        arrival_(workload),
        facts_(options.facts) {
    facts_.has_loader = workload.about().has_loader;
    if (options.loop.budget) facts_.budget_seconds = options.loop.budget->count();
  }

  TuneResult run() {
    TuneResult result;
    search_variants(result);
    is_over_ = loop_.end() == CutShort::no;
    if (!result.doubt) check_the_answer();
    facts_.cut_short = loop_.end();
    if (!result.doubt) result.recommendation = answer();
    if (options_.confirm && result.recommendation) confirm(result.recommendation);
    if (result.recommendation) loop_.set_answer(advise::to_json(*result.recommendation));
    if (result.doubt) loop_.set_answer(advise::to_json(*result.doubt));
    loop_.close();
    settle_status(result);
    result.trials = loop_.trials();
    result.resumed = loop_.resumed();
    result.spent = loop_.spent();
    facts_.limits.memory.limit = memory::allowed(result.trials, facts_.limits.memory);
    result.facts = std::move(facts_);
    return result;
  }

 private:
  void settle_status(TuneResult& result) {
    result.status = advise::status_of(loop_.end(), result.recommendation.has_value());
    if (result.status == Status::nothing_feasible && energy_is_unknown())
      result.status = Status::energy_unknown;
    if (result.status == Status::nothing_feasible && result.doubt)
      result.status = Status::batch_unconfirmed;
    if (!loop_.error().empty())
      result.message = loop_.error();
    else if (result.doubt)
      result.message = words(*result.doubt);
    else if (result.status == Status::energy_unknown)
      result.message = advise::no_energy_words();
    else if (result.status == Status::nothing_feasible)
      result.message = advise::nothing_feasible_words(curve(), limits_, predict());
    else if (!result.recommendation)
      result.message = advise::nothing_known_words(curve(), loop_.cut_off());
  }

  Axis& axis() { return axes_[now_]; }
  std::vector<trial::Trial> curve() { return axis().on(loop_.trials()); }
  search::Predict predict() { return study::predictor(workload_, axis()); }

  void search_variants(TuneResult& result) {
    std::vector<trial::Setting> variants = options_.variants;
    if (variants.empty()) variants.push_back(options_.base);
    for (const trial::Setting& variant : variants) {
      now_ = axes_.size();
      axes_.push_back({variant, facts_.global_batch});
      arrival_ = study::BatchUseCheck(workload_);
      search();
      arrival_.settle();
      look_for_the_batch();
      result.doubt = arrival_.doubt();
      if (options_.most_workers && !result.doubt) search_for_workers();
      if (result.doubt || energy_is_unknown() || !loop_.may_go_on()) return;
    }
  }

  // The limits of a decision on an axis. Energy must be saved, whatever else would be fast.
  search::Limits limits_on(const Axis& axis) const {
    search::Limits limits = limits_;
    if (before_ && is_of(before_->setting, axis)) limits.previous = before_->batch;
    if (limits.objective == search::Objective::energy)
      for (const Axis& other : axes_) {
        if (other.base == axis.base) continue;
        const stats::StepTimes times = search::evidence(other.on(loop_.trials())).times;
        for (std::size_t i = 0; i < times.batches.size(); ++i)
          limits.best_elsewhere =
              std::max(limits.best_elsewhere.value_or(0),
                       static_cast<double>(times.batches[i]) / std::exp(times.log_seconds[i]));
      }
    return limits;
  }

  // What is measured on the current axis. With less power steps take longer, and their fixed cost
  // counts for less: nothing far beyond the first answer is worth a run at another power limit.
  search::Limits limits_of_search() {
    search::Limits limits = limits_on(axis());
    const Axis& first = axes_.front();
    if (now_ == 0 || first.base.configuration.precision != axis().base.configuration.precision ||
        limits.objective != search::Objective::energy)
      return limits;
    const auto known = search::decide(first.on(loop_.trials()), limits_on(first),
                                      study::predictor(workload_, first));
    if (!known) return limits;
    limits.min = std::max(limits.min, known->batch / 4);
    limits.max = std::min(limits.max, std::max(2 * known->batch, known->best_batch));
    return limits;
  }

  // Measures on the current axis until the search is over.
  void search() {
    const search::Predict predict = this->predict();
    search::Limits limits = limits_of_search();
    const std::int64_t most = limits.max;
    if (workload_.switching().in_place && limits.objective != search::Objective::max_batch)
      return study::search_in_rounds(
          loop_, workload_, axis(), limits, predict,
          [this] {
            const auto made = answer();
            return made ? advise::to_json(*made) : "";
          },
          options_.machine ? *options_.machine : telemetry::this_machine());
    look_for_the_batch();
    while (!arrival_.is_over() && !energy_is_unknown() && loop_.may_go_on()) {
      limits.max = std::max(limits.min, std::min(most, limits_.max));
      const auto next = search::next(curve(), limits, predict);
      if (!next) {
        if (!arrival_.settle()) return;
        look_for_the_batch();
        continue;
      }
      loop_.run(axis().at(*next));
      look_for_the_batch();
      if (!arrival_.doubt()) tell_answer_so_far();
    }
  }

  void tell_answer_so_far() {
    if (const auto made = answer()) loop_.set_answer(advise::to_json(*made));
    const auto decision = search::decide(curve(), limits_on(axis()), predict());
    if (!decision) return;
    study::Standing standing;
    standing.decision = &*decision;
    loop_.observer().standing(standing);
  }

  // Batches above a clamp are neither tried nor recommended, as long as it looks like one.
  void look_for_the_batch() {
    const advise::BatchUseVerdict& verdict = arrival_.look(curve(), loop_);
    facts_.clamp = verdict.clamp;
    limits_.max = std::min(options_.limits.max, verdict.limit.value_or(options_.limits.max));
    limits_.max = std::max(limits_.min, limits_.max);
  }

  // At the fastest batch so far, since the chosen one may be just where loading begins to limit;
  // other workers have another curve, with its own knee.
  void search_for_workers() {
    while (true) {
      const auto known = curve();
      const auto decision = search::decide(known, limits_on(axis()), predict());
      const trial::Trial* fastest = decision ? trial_of(known, decision->best_batch) : nullptr;
      if (!fastest) return;
      const advise::WorkerSearch found =
          search_workers(loop_, as_run(*fastest), *options_.most_workers);
      if (!facts_.worker_search) facts_.worker_search.emplace();
      facts_.worker_search->workers = found.workers;
      facts_.worker_search->tried.insert(facts_.worker_search->tried.end(), found.tried.begin(),
                                         found.tried.end());
      if (found.workers == axis().base.configuration.workers) return;
      axis().base.configuration.workers = found.workers;
      search();
    }
  }

  // After the answer is complete.
  void check_the_answer() {
    const auto made = answer();
    if (!made) return;
    now_ = static_cast<std::size_t>(
        std::ranges::find_if(axes_, [&](const Axis& axis) { return is_of(made->setting, axis); }) -
        axes_.begin());
    check_loader_of(curve(), made->batch);
    check_kernels_at(made->batch);
    check_noise(*made);
    if (options_.check_rate) check_rates();
    if (facts_.ranks > 1 && loop_.end() == CutShort::no)
      facts_.scaling = before_ && before_->scaling && before_->batch == made->batch
                           ? before_->scaling
                           : check_scaling(loop_, workload_, *made);
  }

  void check_loader_of(const std::vector<trial::Trial>& known, std::int64_t batch) {
    const trial::Trial* chosen = trial_of(known, batch);
    if (!chosen || !facts_.has_loader || options_.most_workers) return;
    facts_.limits = limits_on(axis());
    const auto limits = advise::bottlenecks(known, facts_);
    if (limits[static_cast<std::size_t>(chosen - known.data())] == advise::Bottleneck::data_loading)
      facts_.loader_check = check_loader(loop_, workload_, as_run(*chosen), facts_);
  }

  // Whether a kernel, rather than the machine, decides the answer.
  void check_kernels_at(std::int64_t batch) {
    const advise::Roofline& roofline = options_.operations_roofline;
    workload::NativeProbes* probes = workload_.probes();
    if (!probes || loop_.end() != CutShort::no ||
        (!roofline.flops_per_second && !roofline.bytes_per_second))
      return;
    try {
      facts_.slow_kernel = advise::slow_kernel(probes->operations(axis().at(batch)), roofline);
    } catch (const core::Error&) {  // the answer does not depend on it
    }
  }

  // A repeated request gets the earlier result.
  void check_noise(const advise::Recommendation& made) {
    if (loop_.end() != CutShort::no || !facts_.rate_base) return;
    facts_.noise = before_ && before_->noise
                       ? before_->noise
                       : measure_noise(loop_, workload_, made, *facts_.rate_base);
  }

  void check_rates() {
    if (const auto now = answer(); loop_.end() == CutShort::no && now && now->learning_rate)
      facts_.tried_rates = check_rate(loop_, workload_, *now);
    if (!facts_.tried_rates.empty()) return;
    const char* why = loop_.end() == CutShort::no ? "a run at one of the rates failed"
                      : loop_.end() == CutShort::budget
                          ? "the budget was spent; use a larger --budget"
                          : "the study ended before";
    facts_.notes.push_back(fmt::format("--lr-check did not run to its end: {}", why));
  }

  // Runs the answer for the requested time. If it exceeds the limit or runs out of memory, steps
  // down to a power of two.
  void confirm(std::optional<advise::Recommendation>& made) {
    advise::Confirmation found;
    found.asked = words(*options_.confirm);
    if (before_ && before_->confirmation && before_->confirmation->confirmed &&
        before_->confirmation->asked == found.asked && before_->batch == made->batch) {
      facts_.confirmation = before_->confirmation;
      made = answer();
      return;
    }
    trial::Setting setting = to_run(made->setting);
    constexpr int most_changes = 3;
    int changes = 0;
    while (loop_.may_go_on()) {
      // If this is interrupted, the stored answer stays as it was.
      facts_.confirmation = found;
      if (const auto unconfirmed = answer()) loop_.set_answer(advise::to_json(*unconfirmed));
      const std::int64_t size = axis().size(setting);
      const auto lasted =
          run_to_confirm(loop_, workload_, *options_.confirm, setting, steps_of_epoch(size));
      if (!lasted) break;
      found.batch = size;
      found.steps = lasted->warm_up_steps + lasted->steps;
      found.memory = lasted->memory_measured;
      found.why = lasted->note;
      const auto allowed = memory::allowed(curve(), limits_.memory);
      const bool fits = !allowed || !found.memory || *found.memory <= *allowed;
      found.confirmed = lasted->outcome == trial::Outcome::ok && fits;
      if (lasted->outcome == trial::Outcome::ok && !fits)
        found.why = fmt::format("it grew to {}", core::format_bytes(*found.memory));
      const bool lacks = lasted->outcome == trial::Outcome::out_of_memory || !fits;
      const auto smaller =
          static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size - 1)));
      // With the new measurement, a larger one may have become the answer.
      if (const auto now = answer(); found.confirmed && now && now->batch > size) {
        setting = to_run(now->setting);
        found.confirmed = false, found.why = "the answer changed with every run";
        if (++changes > most_changes) break;
        continue;
      }
      if (!lacks || facts_.global_batch || smaller < limits_.min) break;
      found.larger = found.larger.value_or(size);
      limits_.max = smaller / limits_.multiple_of * limits_.multiple_of;
      const auto next = answer();
      setting = axis().at(next && next->batch < size ? next->batch : limits_.max);
    }
    facts_.confirmation = found;
    facts_.cut_short = loop_.end();
    made = answer();
  }

  // As counted by the program in a trial of that batch.
  std::optional<std::int64_t> steps_of_epoch(std::int64_t size) {
    for (const trial::Trial& trial : curve())
      if (trial.setting.batch == size && trial.outcome == trial::Outcome::ok && trial.steps_total)
        return trial.steps_total;
    return std::nullopt;
  }

  // A step takes equally long at any learning rate: trials have the given one.
  trial::Setting to_run(trial::Setting setting) {
    setting.learning_rate = axis().base.learning_rate;
    return setting;
  }

  // A trial of the curve with the setting it was really run at.
  trial::Trial as_run(trial::Trial trial) {
    trial.setting = axis().at(trial.setting.batch);
    return trial;
  }

  static bool is_of(const trial::Setting& setting, const Axis& axis) {
    return setting.configuration.precision == axis.base.configuration.precision &&
           setting.configuration.power_limit_watts == axis.base.configuration.power_limit_watts;
  }

  // Trials ran, and none reported its energy.
  bool energy_is_unknown() const {
    if (limits_.objective != search::Objective::energy) return false;
    const auto ok = [](const trial::Trial& trial) { return trial.outcome == trial::Outcome::ok; };
    const auto tells = [](const trial::Trial& trial) {
      return trial::joules_per_sample(trial).has_value();
    };
    return std::ranges::any_of(loop_.trials(), ok) && std::ranges::none_of(loop_.trials(), tells);
  }

  // From everything known about every variant.
  std::optional<advise::Recommendation> answer() {
    std::vector<advise::Recommendation> made;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (auto one = answer_on(axes_[i], i == now_)) made.push_back(*std::move(one));
    if (made.empty()) return std::nullopt;
    advise::Recommendation best = advise::best_variant(std::move(made), loop_.trials());
    if (options_.command) best.command = options_.command(best.setting);
    return best;
  }

  // The additional checks belong to the current axis.
  std::optional<advise::Recommendation> answer_on(const Axis& axis, bool is_present) {
    const auto known = axis.on(loop_.trials());
    facts_.limits = limits_on(axis);
    facts_.predict_run = study::predictor(workload_, axis);
    const auto decision = search::decide(known, facts_.limits, facts_.predict_run);
    if (!decision) return std::nullopt;
    // A single batch is no answer, unless it is the only one allowed, or nothing else is left when
    // the search is over.
    if (!is_over_ && decision->speeds.size() < 2 && limits_.min < limits_.max &&
        limits_.objective != search::Objective::max_batch)
      return std::nullopt;
    facts_.largest_fitting = search::largest_fitting(known, facts_.limits, facts_.predict_run);
    if (is_present) return advise::recommend(known, *decision, facts_);
    advise::Facts facts = facts_;
    facts.loader_check.reset(), facts.slow_kernel.reset();
    return advise::recommend(known, *decision, facts);
  }

  workload::Workload& workload_;
  const TuneOptions& options_;
  search::Limits limits_;
  std::optional<advise::Recommendation> before_;  // of an earlier run of the study
  std::vector<Axis> axes_;                        // one per variant so far
  std::size_t now_ = 0;                           // the current one
  bool is_over_ = false;                          // the search was complete
  Loop loop_;
  study::BatchUseCheck arrival_;
  advise::Facts facts_;
};

}  // namespace

TuneResult tune(workload::Workload& workload, store::Writer& writer, const TuneOptions& options,
                study::Observer& observer, const std::atomic<int>& stop) {
  return Tuning(workload, writer, options, observer, stop).run();
}

}  // namespace sweetspot::tuning
