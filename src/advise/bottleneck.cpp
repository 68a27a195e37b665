#include "advise/bottleneck.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "stats/linear_fit.h"

namespace sweetspot::advise {
namespace {

// TensorFlow's profiler calls a step "highly input-bound" from here on.
constexpr double loading_share = 0.2;
// From here on, more samples per step help more than any faster sample could.
constexpr double overhead_share = 0.4;
// Bandwidth is the limit only if most of it is used, and no more than there is: the bytes are
// counted as if there were no cache, so that a small share says nothing, and one above the whole
// shows that a cache helped.
constexpr double bandwidth_share = 0.5, whole_bandwidth = 1.1;

// The largest batch that memory allows, smaller than requested, and still getting faster.
bool memory_holds_it_back(std::int64_t batch, const std::optional<StepCost>& cost,
                          const Facts& facts) {
  if (!facts.largest_fitting || batch < *facts.largest_fitting) return false;
  if (*facts.largest_fitting + facts.limits.multiple_of > facts.limits.max) return false;
  return cost && cost->fixed_share(batch) > facts.limits.tolerance;
}

Bottleneck by_roofline(double samples_per_second, const Facts& facts) {
  const RooflineShare share = roofline_share(samples_per_second, facts);
  if (!share.flops || !share.bytes) return Bottleneck::compute;
  const bool uses_it = *share.bytes >= bandwidth_share && *share.bytes <= whole_bandwidth;
  return uses_it && *share.bytes > *share.flops ? Bottleneck::memory_bandwidth
                                                : Bottleneck::compute;
}

// Trials that differ only in the batch or the seed share one line of step times.
auto line_of(const trial::Trial& t) {
  const trial::Setting& s = t.setting;
  return std::tie(t.device, s.accumulation, s.configuration, s.learning_rate);
}

bool has_speed(const trial::Trial& t) {
  return t.outcome == trial::Outcome::ok && t.samples_per_second;
}

// The noise of a step time is proportional to it: each point counts alike at any batch.
void add_point(std::vector<stats::LinePoint>& points, std::int64_t batch,
               double samples_per_second) {
  const double seconds = static_cast<double>(batch) / samples_per_second;
  if (seconds > 0 && std::isfinite(seconds))
    points.push_back({static_cast<double>(batch), seconds, 1 / (seconds * seconds)});
}

// Neither part may be negative: if the best line has such a part, the other one alone.
std::optional<StepCost> cost_of(std::span<const stats::LinePoint> points) {
  const auto line = stats::fit_line(points);
  if (!line) return std::nullopt;
  if (line->intercept >= 0 && line->slope >= 0) return StepCost{line->intercept, line->slope};
  double weights = 0, seconds = 0, squares = 0, products = 0;
  for (const auto& [x, y, weight] : points) {
    weights += weight, seconds += weight * y;
    squares += weight * x * x, products += weight * x * y;
  }
  return line->slope < 0 ? StepCost{seconds / weights, 0} : StepCost{0, products / squares};
}

std::optional<Bottleneck> diagnosed(const trial::Trial& trial, const std::optional<StepCost>& cost,
                                    const Facts& facts) {
  if (trial.outcome == trial::Outcome::out_of_memory) return Bottleneck::memory_capacity;
  if (!has_speed(trial)) return std::nullopt;
  return limit_of({trial.setting.batch, trial.samples_per_second->mean, data_wait_share(trial)},
                  cost, facts);
}

}  // namespace

bool is_for_memory(trial::Outcome outcome) {
  return outcome == trial::Outcome::out_of_memory || outcome == trial::Outcome::killed;
}

Facts without_other_ends(const Facts& facts, std::span<const trial::Trial> trials) {
  std::int64_t largest_ok = 0;
  for (const trial::Trial& trial : trials)
    if (trial.outcome == trial::Outcome::ok) largest_ok = std::max(largest_ok, trial.setting.batch);
  const trial::Trial* next = nullptr;
  for (const trial::Trial& trial : trials)
    if (trial.setting.batch > largest_ok && trial.outcome != trial::Outcome::cancelled)
      if (!next || trial.setting.batch < next->setting.batch) next = &trial;
  Facts left = facts;
  if (next && !is_for_memory(next->outcome)) left.largest_fitting.reset();
  return left;
}

double StepCost::seconds(std::int64_t batch) const {
  return fixed_seconds + per_sample_seconds * static_cast<double>(batch);
}

double StepCost::fixed_share(std::int64_t batch) const {
  const double step = seconds(batch);
  return step > 0 ? fixed_seconds / step : 0;
}

std::optional<StepCost> step_cost(std::span<const trial::Trial* const> trials) {
  std::vector<stats::LinePoint> points;
  for (const trial::Trial* trial : trials) {
    if (!has_speed(*trial)) continue;
    const double wait = data_wait_share(*trial).value_or(0);
    add_point(points, trial->setting.batch, trial->samples_per_second->mean / (1 - wait));
  }
  return cost_of(points);
}

std::optional<StepCost> step_cost(const search::Decision& decision) {
  std::vector<stats::LinePoint> points;
  for (const search::BatchSpeed& speed : decision.speeds)
    if (speed.batch <= std::max(decision.batch, decision.best_batch))
      add_point(points, speed.batch, speed.samples_per_second.mean);
  return cost_of(points);
}

std::optional<double> data_wait_share(const trial::Trial& trial) {
  if (!trial.phases) return std::nullopt;
  const double step = std::accumulate(trial.phases->begin(), trial.phases->end(), 0.0);
  if (step <= 0) return std::nullopt;
  return (*trial.phases)[static_cast<std::size_t>(trial::Phase::data_wait)] / step;
}

RooflineShare roofline_share(double samples_per_second, const Facts& facts) {
  const auto share = [&](const std::optional<double>& each, const std::optional<double>& peak) {
    return each && peak && *peak > 0 ? std::optional(*each * samples_per_second / *peak)
                                     : std::nullopt;
  };
  return {share(facts.cost.flops, facts.roofline.flops_per_second),
          share(facts.cost.bytes, facts.roofline.bytes_per_second)};
}

std::optional<Bottleneck> limit_of(const MeasuredBatch& measured,
                                   const std::optional<StepCost>& cost, const Facts& facts) {
  if (measured.data_wait_share.value_or(0) >= loading_share) return Bottleneck::data_loading;
  if (memory_holds_it_back(measured.batch, cost, facts)) return Bottleneck::memory_capacity;
  if (!cost) return std::nullopt;
  if (cost->fixed_share(measured.batch) >= overhead_share) return Bottleneck::step_overhead;
  return by_roofline(measured.samples_per_second, facts);
}

std::vector<std::optional<Bottleneck>> bottlenecks(std::span<const trial::Trial> trials,
                                                   const Facts& facts) {
  std::vector<const trial::Trial*> by_line;
  for (const trial::Trial& trial : trials) by_line.push_back(&trial);
  std::ranges::stable_sort(by_line, [](const trial::Trial* a, const trial::Trial* b) {
    return line_of(*a) < line_of(*b);
  });
  std::vector<std::optional<Bottleneck>> found(trials.size());
  const Facts known = without_other_ends(facts, trials);
  for (std::size_t from = 0, to = 0; from < by_line.size(); from = to) {
    while (to < by_line.size() && line_of(*by_line[to]) == line_of(*by_line[from])) ++to;
    const std::span line(by_line.data() + from, to - from);
    const std::optional<StepCost> cost = step_cost(line);
    for (const trial::Trial* trial : line)
      found[static_cast<std::size_t>(trial - trials.data())] = diagnosed(*trial, cost, known);
  }
  return found;
}

}  // namespace sweetspot::advise
