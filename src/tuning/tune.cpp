#include "tuning/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>

#include "advise/no_answer.h"
#include "core/error.h"
#include "core/text.h"
#include "study/axis.h"
#include "tuning/answer_checks.h"

namespace sweetspot::tuning {
namespace {

using study::Axis;
using trial::End;

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

// A variant's curve, and what was found out about it beside its trials.
struct Searched {
  study::AxisState state;
  std::optional<advise::WorkerSearch> workers{};
  std::optional<advise::LoaderCheck> loader{};
  std::optional<advise::SlowKernel> kernel{};
};

class Tuning {
 public:
  Tuning(workload::Workload& workload, store::Writer& writer, const TuneOptions& options,
         study::Observer& observer, const std::atomic<int>& stop)
      : workload_(workload),
        options_(options),
        limits_(options.limits),
        before_(earlier(writer.study())),
        loop_(workload, writer, options.loop, observer, stop),
        facts_(options.facts) {
    facts_.has_loader = workload.about().has_loader;
    if (options.loop.budget) facts_.budget_seconds = options.loop.budget->count();
  }

  TuneResult run() {
    const std::optional<advise::Doubt> doubt = search_variants();
    is_over_ = !loop_.end();
    std::optional<advise::Recommendation> made;
    if (!doubt) {
      check_the_answer();
      facts_.cut_short = loop_.end();
      made = answer();
      if (options_.confirm && made) confirm(made);
    }
    TuneResult result{loop_.finish(answered(made, doubt)), {}};
    if (made) now_ = place_of(made->setting);
    result.facts = facts_on(now());
    search::Limits& limits = result.facts.limits;
    limits.memory.limit = memory::allowed(result.trials, limits.memory);
    return result;
  }

 private:
  static std::optional<advise::Recommendation> earlier(const trial::Study& study) {
    const advise::Answer answer = advise::answer_of(study);
    const auto* made = answer.get<advise::Recommendation>();
    return made ? std::optional(*made) : std::nullopt;
  }

  advise::Answer answered(const std::optional<advise::Recommendation>& made,
                          const std::optional<advise::Doubt>& doubt) {
    if (made) return {*made, loop_.end().value_or(End::found)};
    advise::Answer answer;
    answer.end = loop_.end().value_or(energy_is_unknown() ? End::energy_unknown
                                      : doubt             ? End::batch_unconfirmed
                                                          : End::nothing_feasible);
    if (doubt) answer.content = *doubt;
    const study::AxisState& state = now().state;
    if (!loop_.error().empty())
      answer.message = loop_.error();
    else if (doubt)
      answer.message = words(*doubt);
    else if (loop_.end())
      answer.message = advise::nothing_known_words(state.trials(), loop_.cut_off());
    else if (answer.end == End::energy_unknown)
      answer.message = advise::no_energy_words();
    else
      answer.message =
          advise::nothing_feasible_words(state.trials(), state.limits(), state.predict());
    return answer;
  }

  Searched& now() { return searched_[now_]; }
  const Axis& axis() { return now().state.axis(); }

  bool energy_is_unknown() const {
    return study::is_energy_unknown(limits_.objective, loop_.trials());
  }

  std::optional<advise::Doubt> search_variants() {
    std::vector<trial::Setting> variants = options_.variants;
    if (variants.empty()) variants.push_back(options_.base);
    for (const trial::Setting& variant : variants) {
      now_ = searched_.size();
      searched_.push_back({{workload_, {variant, facts_.global_batch}}});
      search();
      const std::optional<advise::Doubt> doubt = now().state.batch_use().doubt();
      if (options_.most_workers && !doubt) search_for_workers();
      if (doubt || energy_is_unknown() || !loop_.may_go_on()) return doubt;
    }
    return std::nullopt;
  }

  // The limits of a decision on a curve. Energy must be saved, whatever else would be fast.
  search::Limits limits_on(const Searched& one) const {
    search::Limits limits = limits_;
    if (before_ && is_of(before_->setting, one.state.axis())) limits.previous = before_->batch;
    if (limits.objective == search::Objective::energy)
      for (const Searched& other : searched_)
        if (&other != &one)
          if (const auto best = other.state.best_measured())
            limits.best_elsewhere = std::max(limits.best_elsewhere.value_or(0), *best);
    return limits;
  }

  // What is measured on the present curve. With less power steps take longer, and their fixed cost
  // counts for less: nothing far beyond the first answer is worth a run at another power limit.
  search::Limits limits_of_search() {
    search::Limits limits = limits_on(now());
    Searched& first = searched_.front();
    trial::Setting same = first.state.axis().base;
    same.configuration.power_limit_watts = axis().base.configuration.power_limit_watts;
    if (now_ == 0 || limits.objective != search::Objective::energy || !is_of(same, axis()))
      return limits;
    first.state.set_limits(limits_on(first));
    const auto& known = first.state.plan().decision;
    if (!known) return limits;
    limits.min = std::max(limits.min, known->batch / 4);
    limits.max = std::min(limits.max, std::max(2 * known->batch, known->best_batch));
    return limits;
  }

  // Measures on the present curve until the search is over.
  void search() {
    now().state.set_limits(limits_of_search());
    is_searching_ = true;
    loop_.search(now().state, [this] { return answer(); });
    is_searching_ = false;
    now().state.set_limits(limits_on(now()));
  }

  // At the fastest batch so far, since the chosen one may be just where loading begins to limit;
  // other workers have another curve, with its own knee.
  void search_for_workers() {
    while (true) {
      study::AxisState& state = now().state;
      const auto& decision = state.plan().decision;
      const trial::Trial* fastest =
          decision ? trial_of(state.trials(), decision->best_batch) : nullptr;
      if (!fastest) return;
      const advise::WorkerSearch found =
          search_workers(loop_, as_run(*fastest), *options_.most_workers);
      std::optional<advise::WorkerSearch>& all = now().workers;
      if (!all) all.emplace();
      all->workers = found.workers;
      all->tried.insert(all->tried.end(), found.tried.begin(), found.tried.end());
      if (found.workers == axis().base.configuration.workers) return;
      Axis with_workers = axis();
      with_workers.base.configuration.workers = found.workers;
      state = {workload_, with_workers};
      search();
    }
  }

  // After the answer is complete.
  void check_the_answer() {
    const auto made = answer();
    if (!made) return;
    now_ = place_of(made->setting);
    check_loader_of(made->batch);
    check_kernels_at(made->batch);
    check_noise(*made);
    if (options_.check_rate) check_rates();
    if (facts_.ranks > 1 && !loop_.end())
      facts_.scaling = before_ && before_->scaling && before_->batch == made->batch
                           ? before_->scaling
                           : check_scaling(loop_, workload_, *made);
  }

  void check_loader_of(std::int64_t batch) {
    const std::vector<trial::Trial>& known = now().state.trials();
    const trial::Trial* chosen = trial_of(known, batch);
    if (!chosen || !facts_.has_loader || options_.most_workers) return;
    const advise::Facts facts = facts_on(now());
    const auto limits = advise::bottlenecks(known, facts);
    if (limits[static_cast<std::size_t>(chosen - known.data())] == advise::Bottleneck::data_loading)
      now().loader = check_loader(loop_, workload_, as_run(*chosen), facts);
  }

  // Whether a kernel, rather than the machine, decides the answer.
  void check_kernels_at(std::int64_t batch) {
    const advise::Roofline& roofline = options_.operations_roofline;
    workload::NativeProbes* probes = workload_.probes();
    if (!probes || loop_.end() || (!roofline.flops_per_second && !roofline.bytes_per_second))
      return;
    try {
      now().kernel = advise::slow_kernel(probes->operations(axis().at(batch)), roofline);
    } catch (const core::Error&) {  // the answer does not depend on it
    }
  }

  // A repeated request gets the earlier result.
  void check_noise(const advise::Recommendation& made) {
    if (loop_.end() || !facts_.rate_base) return;
    facts_.noise = before_ && before_->noise
                       ? before_->noise
                       : measure_noise(loop_, workload_, made, *facts_.rate_base);
  }

  void check_rates() {
    if (const auto now = answer(); !loop_.end() && now && now->learning_rate)
      facts_.tried_rates = check_rate(loop_, workload_, *now);
    if (!facts_.tried_rates.empty()) return;
    const char* why = !loop_.end()                 ? "a run at one of the rates failed"
                      : loop_.end() == End::budget ? "the budget was spent; use a larger --budget"
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
      if (auto unconfirmed = answer()) loop_.set_answer({*std::move(unconfirmed)});
      const std::int64_t size = axis().size(setting);
      const auto lasted =
          run_to_confirm(loop_, workload_, *options_.confirm, setting, steps_of_epoch(size));
      if (!lasted) break;
      found.batch = size;
      found.steps = lasted->warm_up_steps + lasted->steps;
      found.memory = lasted->memory_measured;
      found.why = lasted->note;
      now().state.update(loop_);
      const auto allowed = memory::allowed(now().state.trials(), limits_.memory);
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
    for (const trial::Trial& trial : now().state.trials())
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
    return is_same_variant(setting.configuration, axis.base.configuration);
  }

  std::size_t place_of(const trial::Setting& setting) const {
    const auto found = std::ranges::find_if(
        searched_, [&](const Searched& one) { return is_of(setting, one.state.axis()); });
    return static_cast<std::size_t>(found - searched_.begin());
  }

  // From everything known about every variant.
  std::optional<advise::Recommendation> answer() {
    for (Searched& one : searched_) one.state.update(loop_);
    std::vector<advise::Recommendation> made;
    for (Searched& one : searched_) {
      if (!is_searching_ || &one != &now()) one.state.set_limits(limits_on(one));
      if (auto answered = answer_on(one)) made.push_back(*std::move(answered));
    }
    if (made.empty()) return std::nullopt;
    advise::Recommendation best = advise::best_variant(std::move(made), loop_.trials());
    if (options_.command) best.command = options_.command(best.setting);
    return best;
  }

  std::optional<advise::Recommendation> answer_on(Searched& one) {
    const auto& decision = one.state.plan().decision;
    if (!decision) return std::nullopt;
    // A single batch is no answer, unless it is the only one allowed, or nothing else is left when
    // the search is over.
    const search::Limits limits = one.state.limits();
    if (!is_over_ && decision->speeds.size() < 2 && limits.min < limits.max &&
        limits.objective != search::Objective::max_batch)
      return std::nullopt;
    return advise::recommend(one.state.trials(), *decision, facts_on(one));
  }

  // What the answer on a curve is judged by.
  advise::Facts facts_on(Searched& one) {
    advise::Facts facts = facts_;
    facts.limits = one.state.limits();
    facts.predict_run = one.state.predict();
    if (one.state.plan().decision) facts.largest_fitting = one.state.plan().largest_fitting;
    facts.clamp = one.state.batch_use().verdict().clamp;
    facts.worker_search = one.workers;
    facts.loader_check = one.loader;
    facts.slow_kernel = one.kernel;
    return facts;
  }

  workload::Workload& workload_;
  const TuneOptions& options_;
  search::Limits limits_;
  std::optional<advise::Recommendation> before_;  // of an earlier run of the study
  std::vector<Searched> searched_;                // one per variant so far
  std::size_t now_ = 0;                           // the present one
  bool is_searching_ = false;                     // on it
  bool is_over_ = false;                          // the search was complete
  Loop loop_;
  advise::Facts facts_;  // of all variants
};

}  // namespace

TuneResult tune(workload::Workload& workload, store::Writer& writer, const TuneOptions& options,
                study::Observer& observer, const std::atomic<int>& stop) {
  return Tuning(workload, writer, options, observer, stop).run();
}

}  // namespace sweetspot::tuning
