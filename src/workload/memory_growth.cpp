#include "workload/memory_growth.h"

#include <algorithm>
#include <cmath>

namespace sweetspot::workload {
namespace {

// Allocators fill their caches in the first steps, which says nothing about the rest: a short trial
// shows nothing.
constexpr std::int64_t fewest_points = 20;
constexpr double settling_share = 1.0 / 3;
constexpr double noticeable_share = 0.02;

}  // namespace

void MemoryGrowth::add(double at_seconds, core::Bytes peak) {
  if (count_++ == 0) first_ = at_seconds;
  last_ = at_seconds;
  if (rises_.empty() || peak > rises_.back().peak) rises_.push_back({at_seconds, peak});
}

bool MemoryGrowth::is_short() const {
  return count_ < fewest_points || last_ - first_ < telling_seconds;
}

double MemoryGrowth::begin() const { return first_ + settling_share * (last_ - first_); }

core::Bytes MemoryGrowth::peak_at(double at_seconds) const {
  const auto after = std::ranges::upper_bound(rises_, at_seconds, {}, &Point::at_seconds);
  return after == rises_.begin() ? rises_.front().peak : std::prev(after)->peak;
}

double MemoryGrowth::risen() const {
  return static_cast<double>(rises_.back().peak - peak_at(begin()));
}

std::optional<core::Bytes> MemoryGrowth::margin() const {
  constexpr double hour_seconds = 3600;
  if (is_short()) return std::nullopt;
  const double triplings = std::log(hour_seconds / (last_ - first_)) / std::log(3.0);
  return static_cast<core::Bytes>(risen() * std::max(0.0, triplings));
}

bool MemoryGrowth::rises() const {
  return !rises_.empty() && risen() >= noticeable_share * static_cast<double>(rises_.back().peak);
}

bool MemoryGrowth::rises_in_jumps() const {
  constexpr std::ptrdiff_t fewest_jumps = 3;
  if (is_short()) return false;
  const auto jumps = std::ranges::count_if(
      rises_, [begin = begin()](const Point& point) { return point.at_seconds > begin; });
  return jumps >= fewest_jumps && rises();
}

}  // namespace sweetspot::workload
