#include "search/max_batch.h"

#include <algorithm>

namespace sweetspot::search {
namespace {

constexpr std::size_t most_trials = 24;  // four octaves up and a bisection down

}  // namespace

Next next_for_max_batch(const Evidence& evidence, const Range& range, const MemoryFit& memory) {
  if (evidence.times.batches.size() + evidence.failed.size() >= most_trials)
    return {std::nullopt, Over::enough_trials};
  const std::int64_t ran = evidence.largest_ok.value_or(0);
  const bool predicted = memory.predicted(range.high);
  // A fit creeps upwards with each trial; one that is close enough, and large enough that one more
  // sample hardly matters, ends it.
  const bool fitted = !predicted && ran >= std::max(range.low, first_batch) &&
                      (range.memory_limited || !evidence.too_large);
  if (ran >= range.high || (fitted && close(ran, range.high)))
    return {std::nullopt, Over::largest_ran};
  std::int64_t batch = range.high;
  // If a limit is known, the memory fit says how far to go.
  if (!predicted && (ran == 0 || !range.memory_limited))
    batch = std::min(batch, ran > 0 ? most_growth * ran : std::max(first_batch, range.low));
  if (evidence.failed.contains(batch)) return {std::nullopt, Over::nothing_smaller};
  return {batch};
}

}  // namespace sweetspot::search
