#include "stats/round_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "core/random.h"
#include "stats/experiment.h"
#include "stats/moments.h"
#include "stats/quantile.h"

namespace sweetspot::stats {
using namespace experiment;

RoundTable::RoundTable(const std::vector<RoundTimes>& columns) {
  std::set<std::int32_t> numbers;
  for (const RoundTimes& column : columns)
    for (const auto& [number, value] : column) numbers.insert(number);
  const std::vector<std::int32_t> rounds(numbers.begin(), numbers.end());
  rounds_ = rounds.size();
  const std::vector<int> once(rounds_, 1);
  for (const RoundTimes& column : columns) {
    Column& sorted = columns_.emplace_back();
    for (const auto& [number, value] : column)
      sorted.push_back({value, static_cast<std::size_t>(std::ranges::lower_bound(rounds, number) -
                                                        rounds.begin())});
  }
  std::vector<int> in_round(rounds_);
  for (const Column& column : columns_)
    for (const Entry& entry : column) ++in_round[entry.round];
  const auto is_shared = [&](const Entry& entry) { return in_round[entry.round] > 1; };
  const std::vector<double> effects = round_effects();
  find_groups();
  for (std::size_t a = 0; a < columns_.size(); ++a) {
    Column& column = columns_[a];
    Column even;
    for (const Entry& entry : column)
      if (is_shared(entry)) even.push_back({entry.value - effects[entry.round], entry.round});
    if (even.empty()) continue;
    std::ranges::sort(even, {}, &Entry::value);
    const double estimate = calm(even, once);
    Column& blocks = groups_[group_of_[a]].blocks;
    for (const Entry& entry : column)
      if (is_shared(entry)) blocks.push_back({entry.value - estimate, entry.round});
  }
  for (Group& group : groups_) {
    if (group.blocks.empty()) continue;
    std::ranges::sort(group.blocks, {}, &Entry::value);
    group.level = calm(group.blocks, once);
  }
  for (std::size_t a = 0; a < columns_.size(); ++a) {
    Column& column = columns_[a];
    for (Entry& entry : column)
      if (is_shared(entry)) entry.value += groups_[group_of_[a]].level - effects[entry.round];
    std::ranges::sort(column, {}, &Entry::value);
    estimates_.push_back(calm(column, once));
  }
}

void RoundTable::find_groups() {
  group_of_.resize(columns_.size());
  std::iota(group_of_.begin(), group_of_.end(), std::size_t{0});
  std::vector<std::optional<std::size_t>> first_in(rounds_);  // a column of each round
  for (std::size_t a = 0; a < columns_.size(); ++a)
    for (const Entry& entry : columns_[a]) {
      std::optional<std::size_t>& first = first_in[entry.round];
      if (!first) first = a;
      const std::size_t joined = group_of_[*first], own = group_of_[a];
      if (joined != own) std::ranges::replace(group_of_, own, joined);
    }
  groups_.resize(columns_.size());  // joined ones stay empty
}

// The effect of each round on everything in it.
std::vector<double> RoundTable::round_effects() const {
  std::vector<double> effects(rounds_), middles(columns_.size());
  std::vector<std::vector<double>> left(rounds_);
  std::vector<double> values;
  constexpr int sweeps = 4;  // of medians; it changes little after two
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (std::vector<double>& round : left) round.clear();
    for (std::size_t a = 0; a < columns_.size(); ++a) {
      values.clear();
      for (const Entry& entry : columns_[a]) values.push_back(entry.value - effects[entry.round]);
      middles[a] = *median(values);
      for (const Entry& entry : columns_[a]) left[entry.round].push_back(entry.value - middles[a]);
    }
    for (std::size_t r = 0; r < rounds_; ++r) effects[r] = *median(left[r]);
  }
  // How much of an effect is the round's own, rather than chance in its few blocks.
  values.clear();
  for (std::size_t r = 0; r < rounds_; ++r)
    for (const double each : left[r]) values.push_back(each - effects[r]);
  constexpr double of_a_median = 1.57;  // its variance relative to that of a mean
  const double blocks = of_a_median * square(robust_deviation(values).value_or(0));
  const double rounds = square(robust_deviation(effects).value_or(0));
  for (std::size_t r = 0; r < rounds_; ++r) {
    const double chance = blocks / static_cast<double>(left[r].size());
    // A few disturbed rounds among undisturbed ones stand out. A single column says nothing about
    // its round.
    const double seen = std::max(rounds, square(effects[r]));
    const double own = left[r].size() < 2 ? 0 : std::max(seen - chance, 0.0);
    effects[r] *= own > 0 ? own / (own + chance) : 0;
  }
  return effects;
}

// The mean of the values between two quantiles, each weighted by how often its round was picked;
// NaN if none was.
double RoundTable::calm(const Column& column, const std::vector<int>& times_picked) {
  int count = 0;
  for (const Entry& entry : column) count += times_picked[entry.round];
  if (count == 0) return std::nan("");
  // A value's width is its weight; those at the edges count with the part inside.
  const double from = calm_from * count, to = calm_to * count;
  double passed = 0, sum = 0;
  for (const Entry& entry : column) {
    const double next = passed + times_picked[entry.round];
    sum += entry.value * std::max(0.0, std::min(next, to) - std::max(passed, from));
    passed = next;
    if (passed >= to) break;
  }
  return sum / (to - from);
}

// A deviation estimated from few values is itself uncertain: the excess width of Student's
// distribution.
double RoundTable::of_few(std::size_t count) {
  const double degrees = (calm_to - calm_from) * static_cast<double>(count);
  return std::sqrt(degrees / std::max(degrees - 2, 1.0));
}

std::vector<double> RoundTable::covariance() const {
  constexpr std::uint32_t resamples = 200;
  const std::size_t n = columns_.size();
  std::vector<double> sums(n * n), off(n), level_off(n);
  const auto again = [](const Column& column, const std::vector<int>& picked, double before) {
    const double value = calm(column, picked);
    return std::isnan(value) ? 0 : value - before;
  };
  for (std::uint32_t i = 0; i < resamples; ++i) {
    const std::vector<int> picked = resampled(i);
    for (std::size_t g = 0; g < n; ++g)
      level_off[g] = again(groups_[g].blocks, picked, groups_[g].level);
    for (std::size_t a = 0; a < n; ++a) {
      off[a] = again(columns_[a], picked, estimates_[a]);
      // A group's level is over its blocks relative to these.
      const Group& group = groups_[group_of_[a]];
      if (!group.blocks.empty())
        level_off[group_of_[a]] -= off[a] * static_cast<double>(columns_[a].size()) /
                                   static_cast<double>(group.blocks.size());
    }
    for (std::size_t a = 0; a < n; ++a) {
      off[a] = (off[a] + level_off[group_of_[a]]) * of_few(columns_[a].size());
      for (std::size_t b = 0; b <= a; ++b) sums[a * n + b] += off[a] * off[b] / resamples;
    }
  }
  for (std::size_t a = 0; a < n; ++a)
    for (std::size_t b = a + 1; b < n; ++b) sums[a * n + b] = sums[b * n + a];
  const auto [block, drift] = variances();
  for (std::size_t a = 0; a < n; ++a) {
    double& own = sums[a * n + a];
    // A few rounds may agree by chance: at least as much as the blocks of any column suggest, and
    // twice that if there are too few to resample.
    const std::size_t count = columns_[a].size();
    const double expected = block / static_cast<double>(count);
    own = std::max(own, count < least_rounds ? 2 * expected : expected) + drift;
  }
  return sums;
}

// How often each round was picked, in runs of neighbouring rounds.
std::vector<int> RoundTable::resampled(std::uint32_t number) const {
  const core::Random random(0, core::Purpose::rounds, number);
  const auto length = static_cast<std::size_t>(std::ceil(std::cbrt(rounds_)));
  std::vector<int> picked(rounds_);
  std::size_t count = 0;
  for (std::uint64_t i = 0; count < rounds_; ++i) {
    const std::size_t from = random.below(i, rounds_);
    for (std::size_t k = 0; k < length && count < rounds_; ++k, ++count)
      ++picked[(from + k) % rounds_];
  }
  return picked;
}

// The spread of a column's blocks, including tails, over columns with enough of them; and the
// resulting drift between studies.
RoundTable::Variances RoundTable::variances() const {
  std::vector<double> all, robust, values;
  for (const Column& column : columns_) {
    if (column.size() < 3) continue;
    values.clear();
    for (const Entry& entry : column) values.push_back(entry.value);
    all.push_back(*Moments(values).variance());
    robust.push_back(*robust_deviation(values));
  }
  const double usual = median(robust).value_or(block_deviation);
  return {median(all).value_or(square(block_deviation)),
          square(std::max(drift_share * usual, least_drift))};
}

}  // namespace sweetspot::stats
