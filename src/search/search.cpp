#include "search/search.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "search/confirm.h"
#include "search/evidence.h"
#include "search/knee.h"
#include "search/max_batch.h"
#include "search/memory_fit.h"
#include "search/range.h"

namespace sweetspot::search {
namespace {

// Growing batches end at any failure; the knee is looked for around one that crashed.
Evidence evidence_for(Objective objective, std::span<const trial::Trial> trials) {
  Evidence known = evidence(trials);
  if (objective == Objective::max_batch && !known.failed.empty())
    known.too_large = *known.failed.begin();
  return known;
}

std::string nothing_fits(const Limits& limits) {
  if (limits.max / limits.multiple_of * limits.multiple_of < limits.min)
    return fmt::format("no multiple of {} lies between {} and {}", limits.multiple_of, limits.min,
                       limits.max);
  if (!limits.memory_limit) return "not even the smallest batch ran";
  return fmt::format("not even the smallest batch fits into {}",
                     core::format_bytes(*limits.memory_limit));
}

}  // namespace

std::string_view name(Objective objective) {
  return objective == Objective::throughput ? "throughput" : "max_batch";
}

Next next(std::span<const trial::Trial> trials, const Limits& limits, const Predict& predict) {
  const Evidence known = evidence_for(limits.objective, trials);
  const MemoryFit memory(trials, predict);
  const auto range = feasible(limits, known, memory);
  if (!range) return {std::nullopt, nothing_fits(limits)};
  if (limits.objective == Objective::max_batch) return next_for_max_batch(known, *range, memory);
  if (const auto batch = always_contended(trials, limits)) return {batch, ""};
  if (const auto batch = unrepeated_first(trials, known, limits)) return {batch, ""};
  Next next = next_for_knee(known, *range, limits);
  if (next.batch) return next;
  if (const auto choice = choose_knee(known, *range, limits))
    next.batch = unconfirmed(trials, *choice, known, limits);
  return next;
}

std::optional<Choice> choose(std::span<const trial::Trial> trials, const Limits& limits,
                             const Predict& predict) {
  const Evidence known = evidence_for(limits.objective, trials);
  const MemoryFit memory(trials, predict);
  const auto range = feasible(limits, known, memory);
  if (!range) return std::nullopt;
  if (limits.objective == Objective::max_batch) return choose_max_batch(known, *range, memory);
  return choose_knee(known, *range, limits);
}

std::optional<std::int64_t> largest_fitting(std::span<const trial::Trial> trials,
                                            const Limits& limits, const Predict& predict) {
  const Evidence known = evidence(trials);
  const MemoryFit memory(trials, predict);
  const auto range = feasible(limits, known, memory);
  if (!range) return std::nullopt;
  // Half way up to one that failed is a place to try, not a prediction.
  if (known.too_large && known.largest_ok) return std::min(range->high, *known.largest_ok);
  return range->high;
}

}  // namespace sweetspot::search
