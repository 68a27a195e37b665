#include "search/rightness.h"

#include <algorithm>
#include <cmath>

namespace sweetspot::search {
namespace {

// Of the tolerance; the rest is kept for a best that is better than the best that was found.
constexpr double aim = 0.95;

}  // namespace

Rightness::Rightness(const stats::StepModel& model, std::int64_t best_batch, double best,
                     double tolerance)
    : model_(model),
      best_batch_(best_batch),
      within_level_(best + std::log(1 - tolerance)),
      aimed_level_(best + std::log(1 - aim * tolerance)) {}

double Rightness::of(std::int64_t batch, const std::vector<std::int64_t>& sizes) {
  const std::int64_t much_smaller = 3 * batch / 4;
  double too_large = 0;
  if (!sizes.empty() && much_smaller >= sizes.front()) too_large = chance(much_smaller).within;
  for (std::int64_t size : sizes)
    if (size < much_smaller) too_large = std::max(too_large, chance(size).within);
  return std::min(chance(batch).aimed, 1 - too_large);
}

Rightness::Chance Rightness::chance(std::int64_t batch) {
  const auto [entry, is_new] = known_.try_emplace(batch);
  if (is_new) {
    const auto ratio = model_.ratio(batch, best_batch_);
    entry->second = {stats::probability_above(ratio, within_level_),
                     stats::probability_above(ratio, aimed_level_)};
  }
  return entry->second;
}

}  // namespace sweetspot::search
