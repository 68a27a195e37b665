#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "search/evidence.h"

namespace sweetspot::search {

// The batches that may be tried now: multiples within the limits that are known or predicted to
// fit, below any that did not.
struct Range {
  std::int64_t low = 1, high = 1;
  bool memory_limited = false;
  // Memory is assumed to grow with the batch; this checks one in between.
  std::function<bool(std::int64_t)> fits;
};
// Keeps references to all arguments except `allowed`.
std::optional<Range> feasible(const Limits& limits, const Evidence& evidence,
                              const memory::MemoryFit& memory, std::optional<core::Bytes> allowed);

// The candidate sizes, ascending: four per octave (4, 5, 6 and 7 times a power of two), so that the
// next smaller one is never more than a quarter away and larger ones are multiples of 8, 16 and so
// on, which suits devices; and both ends. If a size must divide another, every divisor.
std::vector<std::int64_t> candidates(const Range& range, const Limits& limits);
// The powers of two among them and both ends: the coarse scan.
std::vector<std::int64_t> octaves(const Range& range, const Limits& limits);

// The largest working and the smallest failing batch are so close that nothing between is worth a
// trial.
bool close(std::int64_t works, std::int64_t other);

}  // namespace sweetspot::search
