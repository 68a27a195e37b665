#include <algorithm>
#include <tuple>

#include "advise/advise.h"

namespace sweetspot::advise {
namespace {

// TensorFlow's profiler calls a step "highly input-bound" from here on.
constexpr double loading_share = 0.2;
// From here on, more samples to a step speed it up more than anything done to a sample could.
constexpr double overhead_share = 0.4;

// The largest batch that memory allows, smaller than what was asked for, and still getting faster.
bool memory_holds_it_back(const trial::Trial& trial, const std::optional<StepCost>& cost,
                          const Facts& facts) {
  if (!facts.largest_fitting || trial.setting.batch < *facts.largest_fitting) return false;
  if (*facts.largest_fitting + facts.limits.multiple_of > facts.limits.max) return false;
  return cost && cost->fixed_share(trial.setting.batch) > facts.limits.tolerance;
}

// Bandwidth is the limit only where most of it is used: the bytes are counted as if no cache kept
// any, so that a small share says nothing.
constexpr double bandwidth_share = 0.5;

Bottleneck by_roofline(double samples_per_second, const Facts& facts) {
  const RooflineShare share = roofline_share(samples_per_second, facts);
  if (!share.flops || !share.bytes) return Bottleneck::compute;
  return *share.bytes >= bandwidth_share && *share.bytes > *share.flops
             ? Bottleneck::memory_bandwidth
             : Bottleneck::compute;
}

// Trials that differ in nothing but the batch, or the seed, share one line of step times.
auto line_of(const trial::Trial& t) {
  const trial::Setting& s = t.setting;
  return std::tie(t.device, s.accumulation, s.precision, s.workers, s.prefetch, s.learning_rate);
}

std::optional<Bottleneck> diagnosed(const trial::Trial& trial, const std::optional<StepCost>& cost,
                                    const Facts& facts) {
  if (trial.outcome == trial::Outcome::out_of_memory) return Bottleneck::memory_capacity;
  if (trial.outcome != trial::Outcome::ok || !trial.samples_per_second) return std::nullopt;
  if (data_wait_share(trial).value_or(0) >= loading_share) return Bottleneck::data_loading;
  if (memory_holds_it_back(trial, cost, facts)) return Bottleneck::memory_capacity;
  if (cost && cost->fixed_share(trial.setting.batch) >= overhead_share)
    return Bottleneck::step_overhead;
  return by_roofline(trial.samples_per_second->mean, facts);
}

}  // namespace

RooflineShare roofline_share(double samples_per_second, const Facts& facts) {
  const auto share = [&](const std::optional<double>& each, const std::optional<double>& peak) {
    return each && peak && *peak > 0 ? std::optional(*each * samples_per_second / *peak)
                                     : std::nullopt;
  };
  return {share(facts.cost.flops, facts.roofline.flops_per_second),
          share(facts.cost.bytes, facts.roofline.bytes_per_second)};
}

std::vector<std::optional<Bottleneck>> bottlenecks(std::span<const trial::Trial> trials,
                                                   const Facts& facts) {
  std::vector<const trial::Trial*> by_line;
  for (const trial::Trial& trial : trials) by_line.push_back(&trial);
  std::ranges::stable_sort(by_line, [](const trial::Trial* a, const trial::Trial* b) {
    return line_of(*a) < line_of(*b);
  });
  std::vector<std::optional<Bottleneck>> found(trials.size());
  for (std::size_t from = 0, to = 0; from < by_line.size(); from = to) {
    while (to < by_line.size() && line_of(*by_line[to]) == line_of(*by_line[from])) ++to;
    const std::span line(by_line.data() + from, to - from);
    const std::optional<StepCost> cost = step_cost_of(line);
    for (const trial::Trial* trial : line)
      found[static_cast<std::size_t>(trial - trials.data())] = diagnosed(*trial, cost, facts);
  }
  return found;
}

std::optional<Bottleneck> bottleneck(const trial::Trial& trial, std::span<const trial::Trial> all,
                                     const Facts& facts) {
  std::vector<const trial::Trial*> line;
  for (const trial::Trial& other : all)
    if (line_of(other) == line_of(trial)) line.push_back(&other);
  return diagnosed(trial, step_cost_of(line), facts);
}

}  // namespace sweetspot::advise
