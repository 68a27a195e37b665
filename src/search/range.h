#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "search/evidence.h"
#include "search/memory_fit.h"

namespace sweetspot::search {

// The batches that may be tried now: multiples within the limits that are known or predicted to
// fit, below any that did not.
struct Range {
  std::int64_t low = 1, high = 1;
  bool memory_limited = false;
  // Memory is taken to grow with the batch; this asks about one in between.
  std::function<bool(std::int64_t)> fits;
};
// Refers to all but what is allowed.
std::optional<Range> feasible(const Limits& limits, const Evidence& evidence,
                              const MemoryFit& memory, std::optional<core::Bytes> allowed);

// Where a search begins: small enough to be cheap and to fit, large enough that padding does not
// decide.
constexpr std::int64_t first_batch = 16;
// And by how much it grows from one batch to the next where nothing tells how far to go.
constexpr std::int64_t most_growth = 4;

// The sizes worth a thought, ascending: four to an octave (4, 5, 6 and 7 times a power of two), so
// that a smaller one is never a quarter away and larger ones are multiples of 8, 16 and so on,
// which devices like; both ends; and the last multiples of 8, 16 and 32 below the upper one. Where
// a size has to divide another, every one that does.
std::vector<std::int64_t> candidates(const Range& range, const Limits& limits);
// Of these the powers of two and both ends: what is looked at first.
std::vector<std::int64_t> octaves(const Range& range, const Limits& limits);

// What is known to work and what is not are this close: what lies between is not worth a trial.
bool close(std::int64_t works, std::int64_t other);

}  // namespace sweetspot::search
