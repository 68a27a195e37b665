#include "search/search.h"

#include <algorithm>
#include <array>
#include <set>

#include "search/evidence.h"
#include "search/knee.h"
#include "search/next_batches.h"
#include "search/range.h"
#include "stats/experiment.h"

namespace sweetspot::search {
namespace {

constexpr std::size_t most_failures_at_first = 4;
// For a batch that decides the answer: a third run rarely settles what two leave open.
constexpr int most_runs = 2;

// For max_batch any failure ends the growth; the knee is searched around a crashed batch.
Evidence evidence_for(Objective objective, std::span<const trial::Trial> trials) {
  Evidence known = evidence(trials);
  if (objective == Objective::max_batch && !known.failed.empty())
    known.too_large = *known.failed.begin();
  return known;
}

// What the trials say, and which batches may be tried.
struct Known {
  Known(std::span<const trial::Trial> trials, const Limits& limits, const Predict& predict)
      : evidence(evidence_for(limits.objective, trials)),
        memory(trials, predict),
        range(feasible(limits, evidence, memory, memory::allowed(trials, limits.memory))) {}
  Known(const Known&) = delete;  // the range refers to the others

  std::size_t tried() const { return evidence.times.batches.size() + evidence.failed.size(); }
  // Nothing has run, and a few failures are enough.
  bool only_fails() const {
    return evidence.times.batches.empty() && evidence.failed.size() >= most_failures_at_first;
  }

  const Evidence evidence;
  const memory::MemoryFit memory;
  const std::optional<Range> range;  // nullopt: none
};

std::int64_t runs_of(std::span<const trial::Trial> trials, std::int64_t batch) {
  return std::ranges::count(trials, batch,
                            [](const trial::Trial& trial) { return trial.setting.batch; });
}

// The last batches of a pass are the first of the next, so that drift affects all of them alike.
std::optional<std::int64_t> next_of_a_pass(std::span<const trial::Trial> trials,
                                           const Evidence& known,
                                           const std::vector<std::int64_t>& worth, int passes) {
  for (int pass = 2; pass <= passes; ++pass) {
    std::vector<std::int64_t> order;  // of the first runs
    for (const trial::Trial& trial : trials)
      if (std::ranges::find(order, trial.setting.batch) == order.end())
        order.push_back(trial.setting.batch);
    if (pass % 2 == 0) std::ranges::reverse(order);
    std::erase_if(order, [&](std::int64_t batch) {
      return !known.knows(batch) || runs_of(trials, batch) >= pass ||
             std::ranges::find(worth, batch) == worth.end();
    });
    // Not twice in a row while another one is missing.
    if (order.size() > 1 && order.front() == trials.back().setting.batch)
      std::swap(order[0], order[1]);
    if (!order.empty()) return order.front();
  }
  return std::nullopt;
}

// If runs repeat, those that decide the answer, unless everything happens in one process, whose
// second run of a batch says nothing about another process; otherwise all that matter.
std::optional<std::int64_t> next_to_repeat(std::span<const trial::Trial> trials,
                                           const Evidence& known, const NextBatches& worth,
                                           const Limits& limits) {
  if (limits.passes || !known.repeats)
    return next_of_a_pass(trials, known, worth.batches, limits.passes.value_or(most_runs));
  if (known.in_one_process) return std::nullopt;
  return next_of_a_pass(trials, known, worth.unclear, most_runs);
}

// Whether a batch was run a second time on a GPU with repeatable runs. Then the search upwards is
// over: each further batch costs a program start, and may be the one that dies.
bool has_looked_up(std::span<const trial::Trial> trials, const Evidence& known) {
  return known.repeats && std::ranges::any_of(known.times.batches, [&](std::int64_t batch) {
           return runs_of(trials, batch) > 1;
         });
}

std::optional<std::int64_t> next_for_knee(std::span<const trial::Trial> trials, const Known& known,
                                          const NextBatches* worth, const Limits& limits) {
  const Evidence& evidence = known.evidence;
  const Range& range = *known.range;
  if (known.only_fails()) return std::nullopt;
  const bool with_care = known.memory.guessed(range.low);
  const bool may_try = known.tried() < experiment::most_batches;
  const bool may_look_up = may_try && !(with_care && has_looked_up(trials, evidence));
  if (may_look_up)
    if (const auto batch = next_to_scout(evidence, range, limits, with_care)) return batch;
  if (!worth) return std::nullopt;
  if (may_try && worth->unmeasured) return worth->unmeasured;
  if (with_care && may_look_up)
    if (const auto batch = next_above(evidence, range, limits, worth->decision)) return batch;
  return next_to_repeat(trials, evidence, *worth, limits);
}

// The largest batch that fits: directly to the predicted one, and one trial to prove it. If the
// workload cannot predict, upwards to what fits with 95% probability, each trial refining the fit,
// or by a bounded factor if no limit is known; below a batch that failed without a message, by
// bisection.
std::optional<std::int64_t> next_for_max_batch(const Known& known) {
  const Range& range = *known.range;
  if (known.tried() >= experiment::most_batches) return std::nullopt;
  const std::int64_t ran = known.evidence.largest_ok.value_or(0);
  const bool predicted = known.memory.predicted(range.high);
  // A fit creeps upwards with each trial; one that is close enough, and large enough that one more
  // sample hardly matters, ends it.
  const bool fitted = !predicted && ran >= std::max(range.low, experiment::first_batch) &&
                      (range.memory_limited || !known.evidence.too_large);
  if (ran >= range.high || (fitted && close(ran, range.high))) return std::nullopt;
  std::int64_t batch = range.high;
  // If a limit is known, the memory fit says how far to go.
  if (!predicted && (ran == 0 || !range.memory_limited))
    batch = std::min(batch, ran > 0 ? experiment::most_growth * ran
                                    : std::max(experiment::first_batch, range.low));
  return known.evidence.failed.contains(batch) ? std::nullopt : std::optional(batch);
}

void plan_start(std::span<const trial::Trial> trials, const Known& known, const NextBatches* worth,
                const Limits& limits, Plan& plan) {
  const auto next = limits.objective == Objective::max_batch
                        ? next_for_max_batch(known)
                        : next_for_knee(trials, known, worth, limits);
  if (next) plan.batches = {*next};
  plan.settled = !next;
}

void plan_rounds(const Known& known, const NextBatches* worth, const Limits& limits, Plan& plan) {
  const Evidence& evidence = known.evidence;
  std::optional<std::int64_t> further;
  if (!known.only_fails()) further = next_to_scout(evidence, *known.range, limits);
  const bool compares = std::ranges::any_of(
      evidence.compared, [](const auto& of_batch) { return of_batch.second > 0; });
  plan.scouting = further && (!compares || evidence.is_fine());
  if (plan.scouting) plan.batches = {*further};
  if (plan.scouting || !worth) return;
  plan.batches = worth->batches;
  // Later on, nothing is measured alone, unless step times repeat: the machine may have become
  // faster or slower.
  if (further && !std::ranges::binary_search(plan.batches, *further))
    plan.batches.insert(std::ranges::upper_bound(plan.batches, *further), *further);
  plan.settled = worth->settled && !further;
}

std::optional<Decision> decision_of(const Known& known, const NextBatches& worth,
                                    const Limits& limits) {
  if (limits.objective == Objective::energy && known.evidence.powers.empty()) return std::nullopt;
  Decision decision = worth.decision;
  if (limits.objective != Objective::max_batch) return decision;
  const auto& measured = known.evidence.times.batches;
  decision.batch = measured.back();
  for (const std::int64_t batch : measured)
    if (batch <= known.range->high && known.range->fits(batch)) decision.batch = batch;
  decision.knee_low = decision.knee_high = decision.batch;
  decision.alike_low = decision.alike_high = decision.batch;
  decision.regret = 0;
  return decision;
}

// The midpoint below a failed batch is a batch to try, not a prediction.
std::int64_t largest_fitting(const Known& known) {
  if (known.evidence.too_large && known.evidence.largest_ok)
    return std::min(known.range->high, *known.evidence.largest_ok);
  return known.range->high;
}

}  // namespace

std::string_view name(Objective objective) {
  constexpr std::array<std::string_view, 3> names{"throughput", "max_batch", "energy"};
  return names[static_cast<std::size_t>(objective)];
}

const BatchSpeed& Decision::chosen() const {
  return *std::ranges::find(speeds, batch, &BatchSpeed::batch);
}

Plan plan(std::span<const trial::Trial> trials, const Limits& limits, const Predict& predict,
          trial::Switching switching) {
  const Known known(trials, limits, predict);
  Plan plan;
  plan.interleaved = switching.in_place && limits.objective != Objective::max_batch;
  if (!known.range) return plan;
  plan.largest_fitting = largest_fitting(known);
  std::optional<NextBatches> worth;
  if (!known.evidence.times.batches.empty()) {
    worth = next_batches(known.evidence, *known.range, limits);
    plan.decision = decision_of(known, *worth, limits);
  }
  if (plan.interleaved)
    plan_rounds(known, worth ? &*worth : nullptr, limits, plan);
  else
    plan_start(trials, known, worth ? &*worth : nullptr, limits, plan);
  return plan;
}

std::vector<BatchSpeed> speeds_at(std::span<const trial::Trial> trials,
                                  std::span<const std::int64_t> batches, const Limits& limits) {
  const Evidence known = evidence(trials);
  if (known.times.batches.empty()) return {};
  std::set<std::int64_t> sizes(known.times.batches.begin(), known.times.batches.end());
  sizes.insert(batches.begin(), batches.end());
  const Losses losses(stats::StepModel(known.times), {sizes.begin(), sizes.end()}, known, limits);
  std::vector<BatchSpeed> found;
  for (std::size_t i = 0; i < losses.sizes().size(); ++i)
    if (std::ranges::binary_search(batches, losses.sizes()[i])) found.push_back(losses.speed(i));
  return found;
}

}  // namespace sweetspot::search
