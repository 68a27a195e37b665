#include "workload/command/sample_stride.h"

#include <numeric>
#include <set>

namespace sweetspot::workload::command {
namespace {

constexpr std::size_t most_kept = 64;  // different rises: more of them tell nothing more

}  // namespace

void SampleStride::add(std::int64_t samples) {
  if (samples < 1) return;
  const auto found = rises_.find(samples);
  if (found == rises_.end() && rises_.size() >= most_kept) return;
  ++rises_[samples], ++count_;
}

std::optional<std::int64_t> SampleStride::value() const {
  constexpr double nearly_all = 0.8;
  std::set<std::int64_t> candidates;
  for (const auto& [a, times] : rises_)
    for (const auto& [b, times_too] : rises_) candidates.insert(std::gcd(a, b));
  for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate) {
    std::int64_t multiples = 0;
    for (const auto& [rise, times] : rises_)
      if (rise % *candidate == 0) multiples += times;
    if (static_cast<double>(multiples) < nearly_all * static_cast<double>(count_)) continue;
    // Any numbers at all are multiples of 1.
    if (*candidate == 1 && !rises_.contains(1)) return std::nullopt;
    return *candidate;
  }
  return std::nullopt;
}

}  // namespace sweetspot::workload::command
