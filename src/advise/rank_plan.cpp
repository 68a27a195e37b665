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
bool hides_sums(const RankPlanFacts& facts, std::int64_t ranks) {
  return !facts.machine || ranks * (facts.machine->threads_of_rank + 1) <= facts.machine->cores;
}

// For all gradients, by ranks that do nothing else meanwhile; else by the link.
double summed_seconds(const RankPlanFacts& facts, std::int64_t ranks, double by_link) {
  const auto found = facts.machine->sum_seconds.find(ranks);
  return found != facts.machine->sum_seconds.end() ? found->second : turns(facts, ranks) * by_link;
}

RankPlanRow predict(const RankPlanFacts& facts, const RankPlanFacts::Speed& speed,
                    std::int64_t ranks) {
  const auto bytes = static_cast<double>(facts.gradient_bytes);
  const auto buckets = static_cast<std::int64_t>(
      std::max(std::ceil(bytes / static_cast<double>(facts.bucket_bytes)), 1.0));
  const double bucket_seconds =
      stats::all_reduce_seconds(facts.link, ranks, bytes / static_cast<double>(buckets));
  RankPlanRow row;
  row.ranks = ranks;
  row.micro_batch = speed.micro_batch, row.global_batch = ranks * speed.micro_batch;
  const double computed = speed.step_seconds + (ranks > 1 ? facts.rank_seconds : 0);
  const double in_turns = turns(facts, ranks);
  row.exposed_seconds =
      hides_sums(facts, ranks)
          ? stats::exposed_seconds(facts.backward_share * computed, buckets, bucket_seconds)
          : summed_seconds(facts, ranks, static_cast<double>(buckets) * bucket_seconds);
  row.step_seconds = in_turns * computed + row.exposed_seconds;
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
  said.push_back(
      facts.machine
          ? fmt::format("all ranks are on this machine: each of {} thread{} {}; more than {} take "
                        "turns on its cores (ranks on machines of their own: --link)",
                        facts.machine->threads_of_rank,
                        facts.machine->threads_of_rank == 1 ? "" : "s", as_fast,
                        facts.machine->cores / facts.machine->threads_of_rank)
          : fmt::format("every rank has a machine like this one, {}, loads its data as fast, and "
                        "loses no time of its cores to moving gradients",
                        as_fast));
  said.push_back(fmt::format(
      "all {} of gradients are summed in {} buckets while backward runs, {:.0f}% of a step, which "
      "makes them evenly{}",
      core::format_bytes(facts.gradient_bytes), core::format_bytes(facts.bucket_bytes),
      100 * facts.backward_share,
      facts.machine
          ? "; where ranks leave no core over, that takes as long as it does by itself, which was "
            "timed"
          : ""));
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
