#include "stats/round_table.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "core/random.h"
#include "stats/experiment.h"
#include "stats/quantile.h"

namespace sweetspot::stats {
namespace {

using namespace experiment;

std::vector<double> known(const std::vector<double>& column) {
  std::vector<double> values;
  for (const double value : column)
    if (!std::isnan(value)) values.push_back(value);
  return values;
}

// Of values in no order that matters; at least one.
double calm(std::vector<double>& values) {
  const double place = calm_quantile * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(place);
  std::ranges::nth_element(values, values.begin() + below);
  const double low = values[static_cast<std::size_t>(below)];
  if (below + 1 >= std::ssize(values)) return low;
  const double high = *std::min_element(values.begin() + below + 1, values.end());
  return low + (place - static_cast<double>(below)) * (high - low);
}

}  // namespace

RoundTable::RoundTable(const std::vector<RoundTimes>& columns) {
  std::set<std::int32_t> numbers;
  for (const RoundTimes& column : columns)
    for (const auto& [number, value] : column) numbers.insert(number);
  rounds_ = numbers.size();
  for (const RoundTimes& column : columns) {
    std::vector<double>& values = columns_.emplace_back();
    for (const std::int32_t number : numbers) {
      const auto found = column.find(number);
      values.push_back(found == column.end() ? std::nan("") : found->second);
    }
  }
  std::vector<std::size_t> all(rounds_);
  std::iota(all.begin(), all.end(), std::size_t{0});
  estimates_ = estimate(all);
}

std::vector<double> RoundTable::covariance() const {
  constexpr std::uint32_t resamples = 200;
  const std::size_t n = columns_.size();
  std::vector<double> sums(n * n);
  for (std::uint32_t i = 0; i < resamples; ++i) {
    const std::vector<double> again = estimate(resampled(i));
    for (std::size_t a = 0; a < n; ++a)
      for (std::size_t b = 0; b < n; ++b)
        sums[a * n + b] += (again[a] - estimates_[a]) * (again[b] - estimates_[b]) / resamples;
  }
  const double block = block_variance();
  for (std::size_t a = 0; a < n; ++a) {
    double& own = sums[a * n + a];
    // Too few rounds to resample: as much as blocks of any of them vary.
    const std::size_t count = known(columns_[a]).size();
    if (count < least_rounds) own = std::max(own, 2 * block / static_cast<double>(count));
    own += square(drift_deviation);
  }
  return sums;
}

std::vector<double> RoundTable::estimate(const std::vector<std::size_t>& picked) const {
  std::vector<double> found, values;
  for (std::size_t a = 0; a < columns_.size(); ++a) {
    values.clear();
    for (const std::size_t round : picked)
      if (!std::isnan(columns_[a][round])) values.push_back(columns_[a][round]);
    found.push_back(values.empty() ? estimates_[a] : calm(values));
  }
  return found;
}

std::vector<std::size_t> RoundTable::resampled(std::uint32_t number) const {
  const core::Random random(0, core::Purpose::rounds, number);
  const auto length = static_cast<std::size_t>(std::ceil(std::cbrt(rounds_)));
  std::vector<std::size_t> picked;
  for (std::uint64_t i = 0; picked.size() < rounds_; ++i) {
    const std::size_t from = random.below(i, rounds_);
    for (std::size_t k = 0; k < length && picked.size() < rounds_; ++k)
      picked.push_back((from + k) % rounds_);
  }
  return picked;
}

// The median over columns of how much the blocks of one vary.
double RoundTable::block_variance() const {
  constexpr double unknown_deviation = 0.05;
  std::vector<double> variances;
  for (const std::vector<double>& column : columns_)
    if (const auto values = known(column); values.size() >= 3)
      variances.push_back(square(*robust_deviation(values)));
  return median(variances).value_or(square(unknown_deviation));
}

}  // namespace sweetspot::stats
