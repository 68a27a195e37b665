#include <algorithm>

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

// The trials that differ in nothing but the batch: one line of step times goes through them.
std::vector<trial::Trial> siblings(const trial::Trial& trial, std::span<const trial::Trial> all) {
  std::vector<trial::Trial> found;
  for (const trial::Trial& other : all) {
    trial::Setting setting = other.setting;
    setting.batch = trial.setting.batch;
    if (setting == trial.setting) found.push_back(other);
  }
  return found;
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

std::optional<Bottleneck> bottleneck(const trial::Trial& trial, std::span<const trial::Trial> all,
                                     const Facts& facts) {
  if (trial.outcome == trial::Outcome::out_of_memory) return Bottleneck::memory_capacity;
  if (trial.outcome != trial::Outcome::ok || !trial.samples_per_second) return std::nullopt;
  if (data_wait_share(trial).value_or(0) >= loading_share) return Bottleneck::data_loading;
  const std::optional<StepCost> cost = step_cost(siblings(trial, all));
  if (memory_holds_it_back(trial, cost, facts)) return Bottleneck::memory_capacity;
  if (cost && cost->fixed_share(trial.setting.batch) >= overhead_share)
    return Bottleneck::step_overhead;
  return by_roofline(trial.samples_per_second->mean, facts);
}

}  // namespace sweetspot::advise
