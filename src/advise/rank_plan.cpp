#include "advise/rank_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace sweetspot::advise {
namespace {

// By its relative number of updates; what it is relative to cancels out.
double time_to_accuracy(const RankPlanRow& row, double noise_scale) {
  return (1 + noise_scale / static_cast<double>(row.global_batch)) * row.step_seconds;
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
  row.exposed_seconds =
      stats::exposed_seconds(facts.backward_share * speed.step_seconds, buckets, bucket_seconds);
  row.step_seconds = speed.step_seconds + row.exposed_seconds;
  row.samples_per_second = static_cast<double>(row.global_batch) / row.step_seconds;
  row.efficiency = speed.step_seconds / row.step_seconds;
  return row;
}

// Nothing where no batch is small enough.
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
  said.push_back(
      "every rank computes a step as fast as this machine does alone, loads its data as fast, and "
      "loses no time of its cores to moving gradients");
  said.push_back(fmt::format(
      "all {} of gradients are summed in {} buckets while backward runs, {:.0f}% of a step, which "
      "makes them evenly",
      core::format_bytes(facts.gradient_bytes), core::format_bytes(facts.bucket_bytes),
      100 * facts.backward_share));
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
