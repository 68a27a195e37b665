#include "advise/rank_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace sweetspot::advise {
namespace {

// By its relative number of updates; the reference cancels out.
double time_to_accuracy(const RankPlanRow& row, double noise_scale) {
  return (1 + noise_scale / static_cast<double>(row.global_batch)) * row.step_seconds;
}

// How many ranks share a core in turn.
double turns(const RankPlanFacts& facts, std::int64_t ranks) {
  if (!facts.machine) return 1;
  return std::max(1., static_cast<double>(ranks * facts.machine->threads_of_rank) /
                          static_cast<double>(facts.machine->cores));
}

// The all-reduces of all gradients on one machine: measured by themselves, or by the link.
double summed_seconds(const RankPlanFacts& facts, std::int64_t ranks, double by_link) {
  const auto found = facts.machine->sum_seconds.find(ranks);
  return found != facts.machine->sum_seconds.end() ? found->second : turns(facts, ranks) * by_link;
}

// The time of a step of several ranks: computing, and waiting for all-reduces.
struct StepTimes {
  double computed, exposed;
};
StepTimes step_times(const RankPlanFacts& facts, double alone_seconds, std::int64_t ranks) {
  if (ranks == 1) return {alone_seconds, 0};
  if (facts.machine)
    if (const auto found = facts.machine->steps.find(ranks); found != facts.machine->steps.end())
      return {found->second.times_alone * alone_seconds, found->second.sums_seconds};
  const auto bytes = static_cast<double>(facts.gradient_bytes);
  const auto buckets = static_cast<std::int64_t>(
      std::max(std::ceil(bytes / static_cast<double>(facts.bucket_bytes)), 1.0));
  const double bucket_seconds =
      collective::all_reduce_seconds(facts.link, ranks, bytes / static_cast<double>(buckets));
  const double computed = alone_seconds + facts.rank_seconds;
  if (facts.machine)
    return {turns(facts, ranks) * computed,
            summed_seconds(facts, ranks, static_cast<double>(buckets) * bucket_seconds)};
  return {computed,
          collective::exposed_seconds(facts.backward_share * computed, buckets, bucket_seconds)};
}

RankPlanRow predict(const RankPlanFacts& facts, const RankPlanFacts::Speed& speed,
                    std::int64_t ranks) {
  const StepTimes times = step_times(facts, speed.step_seconds, ranks);
  RankPlanRow row;
  row.ranks = ranks;
  row.micro_batch = speed.micro_batch, row.global_batch = ranks * speed.micro_batch;
  row.exposed_seconds = times.exposed;
  row.step_seconds = times.computed + times.exposed;
  row.samples_per_second = static_cast<double>(row.global_batch) / row.step_seconds;
  row.efficiency = speed.step_seconds / row.step_seconds;
  return row;
}

// nullopt if no batch is small enough.
std::optional<RankPlanRow> best(const RankPlanFacts& facts, std::int64_t ranks) {
  std::vector<RankPlanRow> rows;
  for (const RankPlanFacts::Speed& speed : facts.speeds)
    if (!facts.samples || ranks * speed.micro_batch <= *facts.samples)
      rows.push_back(predict(facts, speed, ranks));
  if (rows.empty()) return std::nullopt;
  if (facts.noise_scale)
    return *std::ranges::min_element(rows, {}, [&](const RankPlanRow& row) {
      return time_to_accuracy(row, *facts.noise_scale);
    });
  const double fastest =
      std::ranges::max(rows, {}, &RankPlanRow::samples_per_second).samples_per_second;
  std::ranges::sort(rows, {}, &RankPlanRow::global_batch);
  return *std::ranges::find_if(rows, [&](const RankPlanRow& row) {
    return row.samples_per_second >= (1 - facts.tolerance) * fastest;
  });
}

// "2 and 4"
std::string counts_of(const std::map<std::int64_t, RankPlanFacts::Machine::Steps>& steps) {
  std::string text;
  std::size_t left = steps.size();
  for (const auto& [ranks, times] : steps) {
    text += std::to_string(ranks);
    if (--left > 0) text += left == 1 ? " and " : ", ";
  }
  return text;
}

}  // namespace

RankPlan plan_ranks(const RankPlanFacts& facts, std::span<const std::int64_t> ranks) {
  RankPlan plan{facts, {}};
  const std::optional<RankPlanRow> one = best(facts, 1);
  for (const std::int64_t count : ranks) {
    std::optional<RankPlanRow> row = best(facts, count);
    if (!row || !one) continue;
    if (facts.noise_scale)
      row->sooner =
          time_to_accuracy(*one, *facts.noise_scale) / time_to_accuracy(*row, *facts.noise_scale);
    plan.rows.push_back(*row);
  }
  return plan;
}

std::vector<std::string> assumptions(const RankPlanFacts& facts) {
  std::vector<std::string> said;
  const std::string as_fast = fmt::format(
      "computes a step in the time of one alone and {}, to write down gradients that are to be "
      "summed",
      core::format_duration(core::Seconds(facts.rank_seconds)));
  if (!facts.machine) {
    said.push_back(
        fmt::format("every rank has a machine like this one, {}, loads its data as fast, and loses "
                    "no time of its cores to moving gradients",
                    as_fast));
    said.push_back(fmt::format(
        "all {} of gradients are summed in {} buckets while backward runs, {:.0f}% of a step, "
        "which makes them evenly",
        core::format_bytes(facts.gradient_bytes), core::format_bytes(facts.bucket_bytes),
        100 * facts.backward_share));
  } else {
    const RankPlanFacts::Machine& machine = *facts.machine;
    said.push_back(fmt::format(
        "all ranks are on this machine, with {} thread{} each (ranks on machines of their own: "
        "--link)",
        machine.threads_of_rank, machine.threads_of_rank == 1 ? "" : "s"));
    if (!machine.steps.empty())
      said.push_back(fmt::format(
          "{} ranks: sharing the machine, and summing {} of gradients, slow a step down at every "
          "batch as measured in a few steps",
          counts_of(machine.steps), core::format_bytes(facts.gradient_bytes)));
    said.push_back(fmt::format(
        "{} ranks: each {}; more than {} take turns on its cores; all {} of gradients are summed "
        "in "
        "{} buckets, which takes time on the same cores",
        machine.steps.empty() ? "several" : "more", as_fast,
        machine.cores / machine.threads_of_rank, core::format_bytes(facts.gradient_bytes),
        core::format_bytes(facts.bucket_bytes)));
  }
  said.push_back(fmt::format(
      "a sum over N ranks takes 2⌈log2 N⌉ × {} + 2(N − 1)/N × bytes / {}/s, as {} between {}, with "
      "no other traffic",
      core::format_duration(core::Seconds(facts.link.latency_seconds)),
      core::format_bytes(static_cast<core::Bytes>(facts.link.bytes_per_second)),
      facts.link_measured ? "was measured" : "was given",
      facts.link_measured ? "processes of this machine" : "any two ranks"));
  said.push_back(
      facts.noise_scale
          ? fmt::format(
                "the noise scale stays {}: updates to the same accuracy go as 1 + {} / batch",
                core::format_rounded(*facts.noise_scale), core::format_rounded(*facts.noise_scale))
          : "the noise scale is not known: nothing is said of accuracy");
  return said;
}

}  // namespace sweetspot::advise
