#include "workload/memory_growth.h"

#include <algorithm>
#include <cmath>

namespace sweetspot::workload {
namespace {

// Allocators fill their caches in the first steps, which says nothing about the rest: a short trial
// shows nothing.
constexpr std::int64_t fewest_points = 20;
constexpr double settling_share = 1.0 / 3;

}  // namespace

void MemoryGrowth::add(double at_seconds, core::Bytes peak) {
  if (count_++ == 0) first_ = at_seconds;
  last_ = at_seconds;
  if (rises_.empty() || peak > rises_.back().peak) rises_.push_back({at_seconds, peak, count_});
}

bool MemoryGrowth::is_short() const {
  return count_ < fewest_points || last_ - first_ < telling_seconds;
}

double MemoryGrowth::begin() const { return first_ + settling_share * (last_ - first_); }

core::Bytes MemoryGrowth::peak_at(double at_seconds) const {
  const auto after = std::ranges::upper_bound(rises_, at_seconds, {}, &Point::at_seconds);
  return after == rises_.begin() ? rises_.front().peak : std::prev(after)->peak;
}

std::optional<core::Bytes> MemoryGrowth::margin() const {
  constexpr double hour_seconds = 3600;
  if (is_short()) return std::nullopt;
  const auto risen = static_cast<double>(rises_.back().peak - peak_at(begin()));
  const double triplings = std::log(hour_seconds / (last_ - first_)) / std::log(3.0);
  return static_cast<core::Bytes>(risen * std::max(0.0, triplings));
}

// Of lengths drawn at random, the n-th is the longest so far with probability 1/n: four new peaks
// among the first 150 points after the fourth.
int MemoryGrowth::jumps() const {
  constexpr std::int64_t filling = 4;
  constexpr double noticeable_share = 0.01;
  int found = 0;
  for (std::size_t i = 1; i < rises_.size(); ++i) {
    const auto before = static_cast<double>(rises_[i - 1].peak);
    found += rises_[i].number > filling &&
             static_cast<double>(rises_[i].peak) >= (1 + noticeable_share) * before;
  }
  return found;
}

bool MemoryGrowth::rises_in_jumps() const {
  constexpr int fewest_jumps = 2;
  return !is_short() && jumps() >= fewest_jumps;
}

}  // namespace sweetspot::workload
