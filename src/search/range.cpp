#include "search/range.h"

#include <algorithm>
#include <cmath>

#include "stats/experiment.h"

namespace sweetspot::search {
namespace {

// The largest multiple that fits, by bisection.
std::optional<std::int64_t> largest(std::int64_t low, std::int64_t high, std::int64_t step,
                                    const std::function<bool(std::int64_t)>& fits) {
  if (low > high || !fits(low)) return std::nullopt;
  std::int64_t good = low / step, bad = high / step + 1;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle * step) ? good : bad) = middle;
  }
  return good * step;
}

// The next batch below one that was too large: the geometric mean with the largest that works.
std::int64_t below(std::int64_t too_large, std::optional<std::int64_t> works, std::int64_t low) {
  if (works && *works < too_large && close(*works, too_large)) return *works;
  const std::int64_t least = std::min(works.value_or(low), too_large);
  const double middle = std::sqrt(static_cast<double>(least) * static_cast<double>(too_large));
  return std::min(static_cast<std::int64_t>(middle), too_large - 1);
}

std::vector<std::int64_t> divisors(std::int64_t whole, const Range& range, std::int64_t step) {
  std::vector<std::int64_t> found;
  for (std::int64_t size = range.low; size <= std::min(range.high, whole); size += step)
    if (whole % size == 0) found.push_back(size);
  return found;
}

// These sizes as multiples, if they are within the range, and both ends of it.
std::vector<std::int64_t> within(const Range& range, const Limits& limits,
                                 const std::vector<std::int64_t>& sizes) {
  const std::int64_t step = limits.multiple_of;
  std::vector<std::int64_t> found = {range.low, range.high};
  for (const std::int64_t size : sizes) {
    const std::int64_t batch = (size + step / 2) / step * step;
    if (batch >= range.low && batch <= range.high) found.push_back(batch);
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

}  // namespace

bool close(std::int64_t works, std::int64_t other) {
  const auto hardly_more =
      static_cast<std::int64_t>(experiment::noticeable_share * static_cast<double>(works));
  return other - works <= std::max<std::int64_t>(hardly_more, 1);
}

std::optional<Range> feasible(const Limits& limits, const Evidence& evidence,
                              const memory::MemoryFit& memory, std::optional<core::Bytes> allowed) {
  const std::int64_t step = limits.multiple_of;
  const std::int64_t low = (std::max<std::int64_t>(limits.min, 1) + step - 1) / step * step;
  std::int64_t high = limits.max / step * step;
  if (evidence.too_large) {
    // If its memory explains the failure, that says how far below to go; else it has to be tried.
    const bool is_explained = allowed && memory.lacks(*evidence.too_large, *allowed);
    const std::int64_t most = is_explained ? *evidence.too_large - 1
                                           : below(*evidence.too_large, evidence.largest_ok, low);
    high = std::min(high, most / step * step);
  }
  // A search for speed avoids batches at which a program is likely to die.
  if (limits.objective != Objective::max_batch && evidence.largest_ok && memory.levels_off())
    high = std::min(high, std::max(low, *evidence.largest_ok / step * step));
  const auto fits = [&evidence, &memory, allowed, low, step](std::int64_t batch) {
    if (!allowed) return true;
    if (!memory.predicted(batch)) {
      // With unknown memory one common batch may be tried, and if that fails the smallest; then the
      // next one, even if its fixed part might be zero: one size cannot separate fixed from
      // per-sample bytes.
      if (evidence.times.batches.empty())
        return batch <= (evidence.failed.empty() ? std::max(low, experiment::first_batch) : low);
      if (evidence.times.batches.size() == 1 && batch <= low + step) return true;
    }
    return memory.fits(batch, *allowed);
  };
  const auto most = largest(low, high, step, fits);
  if (!most) return std::nullopt;
  return Range{low, *most, allowed.has_value(), fits};
}

std::vector<std::int64_t> candidates(const Range& range, const Limits& limits) {
  if (limits.divisor_of) return divisors(*limits.divisor_of, range, limits.multiple_of);
  std::vector<std::int64_t> sizes;
  for (std::int64_t small = 1; small < 4; ++small) sizes.push_back(small);
  for (std::int64_t unit = 1; unit <= range.high / 4; unit *= 2)
    for (std::int64_t quarter = 4; quarter < 8; ++quarter) sizes.push_back(quarter * unit);
  return within(range, limits, sizes);
}

std::vector<std::int64_t> octaves(const Range& range, const Limits& limits) {
  if (limits.divisor_of) return divisors(*limits.divisor_of, range, limits.multiple_of);
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size <= range.high; size *= 2) sizes.push_back(size);
  return within(range, limits, sizes);
}

}  // namespace sweetspot::search
