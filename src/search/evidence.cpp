#include "search/evidence.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/random.h"
#include "stats/experiment.h"
#include "stats/quantile.h"

namespace sweetspot::search {
namespace {

using namespace experiment;

double square(double value) { return value * value; }

// Log seconds of a weight update: of a batch, by round.
using Rounds = std::map<std::int32_t, double>;

// One run of a batch by itself.
struct Run {
  double log_seconds = 0;
  double variance = 0;  // by its own steps
};

struct Readings {
  std::map<std::int64_t, Rounds> rounds;
  std::map<std::int64_t, std::vector<Run>> runs;
};

void add_blocks(const trial::Trial& trial, Rounds& rounds) {
  for (const trial::Step& step : trial.raw)
    if (step.round > 0 && !step.warm_up && step.seconds > 0)
      rounds[step.round] = std::log(step.seconds / static_cast<double>(step.updates));
}

Run run_of(const trial::Trial& trial) {
  const core::Interval& speed = *trial.samples_per_second;
  const double half = std::log(speed.high / speed.low) / 2;  // not finite when unknown
  const double deviation = std::isfinite(half) && half > 0 ? half / stats::normal95 : 0;
  return {std::log(static_cast<double>(trial.setting.batch) / speed.mean),
          square(deviation) + (trial.contention.contended ? square(contended_deviation) : 0)};
}

// How far runs of one batch lie apart beyond what their own intervals explain: what a machine
// changes from one moment to another, which no run sees by itself. (DerSimonian and Laird's
// estimate over all batches, with a prior that counts as two runs: it is never nothing.)
double variance_between(const std::map<std::int64_t, std::vector<Run>>& runs) {
  constexpr double prior_freedom = 2;
  double excess = 0, scale = 0, freedom = 0;
  for (const auto& [batch, of_batch] : runs) {
    if (of_batch.size() < 2) continue;
    double weights = 0, squares = 0, weighted = 0;
    for (const Run& run : of_batch) {
      const double weight = 1 / (run.variance + 1e-8);
      weights += weight, squares += weight * weight, weighted += weight * run.log_seconds;
    }
    for (const Run& run : of_batch)
      excess += square(run.log_seconds - weighted / weights) / (run.variance + 1e-8);
    const double degrees = static_cast<double>(of_batch.size()) - 1;
    excess -= degrees, freedom += degrees;
    scale += weights - squares / weights;
  }
  const double found = freedom > 0 ? std::max(0.0, excess / scale) : 0;
  return (freedom * found + prior_freedom * square(run_deviation)) / (freedom + prior_freedom);
}

// Values that are there, in no order that matters; at least one.
double calm(std::vector<double>& values) {
  const double place = calm_quantile * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(below));
  const double low = values[below];
  if (below + 1 >= values.size()) return low;
  const double high =
      *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(below) + 1, values.end());
  return low + (place - static_cast<double>(below)) * (high - low);
}

// The rounds of several batches as a table; NaN where a batch was not in a round.
class RoundTable {
 public:
  explicit RoundTable(const std::map<std::int64_t, Rounds>& rounds) {
    std::set<std::int32_t> numbers;
    for (const auto& [batch, of_batch] : rounds)
      for (const auto& [number, value] : of_batch) numbers.insert(number);
    rounds_ = numbers.size();
    for (const auto& [batch, of_batch] : rounds) {
      std::vector<double>& column = columns_.emplace_back();
      for (const std::int32_t number : numbers) {
        const auto found = of_batch.find(number);
        column.push_back(found == of_batch.end() ? std::nan("") : found->second);
      }
    }
  }

  std::size_t batches() const { return columns_.size(); }

  std::vector<double> estimates() const {
    std::vector<std::size_t> all(rounds_);
    for (std::size_t i = 0; i < rounds_; ++i) all[i] = i;
    return estimates(all, {});
  }

  // Of the estimates' errors, row by row.
  std::vector<double> covariance(const std::vector<double>& found) const {
    constexpr std::uint32_t resamples = 200;
    const std::size_t n = batches();
    std::vector<double> sums(n * n);
    for (std::uint32_t i = 0; i < resamples; ++i) {
      const std::vector<double> again = estimates(resampled(i), found);
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
          sums[a * n + b] += (again[a] - found[a]) * (again[b] - found[b]) / resamples;
    }
    const double block = block_variance();
    for (std::size_t a = 0; a < n; ++a) {
      // Too few rounds to resample: as much as blocks of any batch vary.
      const double count = static_cast<double>(count_of(a));
      double& own = sums[a * n + a];
      if (count < least_rounds) own = std::max(own, 2 * block / count);
      own += square(drift_deviation);
    }
    return sums;
  }

 private:
  std::vector<double> estimates(const std::vector<std::size_t>& picked,
                                const std::vector<double>& otherwise) const {
    std::vector<double> found, values;
    for (std::size_t a = 0; a < batches(); ++a) {
      values.clear();
      for (const std::size_t round : picked)
        if (!std::isnan(columns_[a][round])) values.push_back(columns_[a][round]);
      found.push_back(values.empty() ? otherwise[a] : calm(values));
    }
    return found;
  }

  // Neighbouring rounds together: a disturbance lasts longer than one.
  std::vector<std::size_t> resampled(std::uint32_t number) const {
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

  std::size_t count_of(std::size_t batch) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        columns_[batch], [](double value) { return !std::isnan(value); }));
  }

  // The median over batches of how much a batch's blocks vary.
  double block_variance() const {
    constexpr double unknown_share = 0.05;
    std::vector<double> variances, values;
    for (const std::vector<double>& column : columns_) {
      values.clear();
      for (const double value : column)
        if (!std::isnan(value)) values.push_back(value);
      if (values.size() >= 3) variances.push_back(square(*stats::robust_deviation(values)));
    }
    return stats::median(variances).value_or(square(unknown_share));
  }

  std::size_t rounds_ = 0;
  std::vector<std::vector<double>> columns_;  // by batch, ascending
};

// Where runs of a batch are all there is.
void add_runs(const Readings& readings, stats::StepTimes& times) {
  const double between = variance_between(readings.runs);
  const std::size_t n = times.batches.size();
  for (std::size_t i = 0; i < n; ++i) {
    if (readings.rounds.contains(times.batches[i])) continue;
    double weights = 0, weighted = 0;
    for (const Run& run : readings.runs.at(times.batches[i])) {
      const double weight = 1 / (run.variance + between);
      weights += weight, weighted += weight * run.log_seconds;
    }
    times.log_seconds[i] = weighted / weights;
    times.covariance[i * n + i] = 1 / weights;
  }
}

stats::StepTimes times_of(const Readings& readings) {
  stats::StepTimes times;
  for (const auto& [batch, of_batch] : readings.rounds) times.batches.push_back(batch);
  for (const auto& [batch, of_batch] : readings.runs)
    if (!readings.rounds.contains(batch)) times.batches.push_back(batch);
  std::ranges::sort(times.batches);
  const std::size_t n = times.batches.size();
  times.log_seconds.resize(n);
  times.covariance.resize(n * n);
  if (!readings.rounds.empty()) {
    const RoundTable table(readings.rounds);
    const std::vector<double> found = table.estimates();
    const std::vector<double> covariance = table.covariance(found);
    std::vector<std::size_t> place;  // of each batch in rounds among all
    for (const auto& [batch, of_batch] : readings.rounds)
      place.push_back(static_cast<std::size_t>(std::ranges::lower_bound(times.batches, batch) -
                                               times.batches.begin()));
    for (std::size_t a = 0; a < place.size(); ++a) {
      times.log_seconds[place[a]] = found[a];
      for (std::size_t b = 0; b < place.size(); ++b)
        times.covariance[place[a] * n + place[b]] = covariance[a * place.size() + b];
    }
  }
  add_runs(readings, times);
  return times;
}

}  // namespace

bool Evidence::knows(std::int64_t batch) const {
  return std::ranges::binary_search(times.batches, batch);
}

Evidence evidence(std::span<const trial::Trial> trials) {
  Evidence all;
  Readings readings;
  for (const trial::Trial& trial : trials) {
    const std::int64_t batch = trial.setting.batch;
    Rounds rounds;
    add_blocks(trial, rounds);
    const auto& speed = trial.samples_per_second;
    switch (trial.outcome) {
      case trial::Outcome::cancelled:
        break;
      case trial::Outcome::out_of_memory:
      case trial::Outcome::timed_out:
      case trial::Outcome::killed:  // perhaps for its memory: larger ones would fare no better
        all.too_large = std::min(batch, all.too_large.value_or(batch));
        all.failed.insert(batch);
        break;
      case trial::Outcome::crashed:
      case trial::Outcome::refused:
        all.failed.insert(batch);
        break;
      case trial::Outcome::ok:
        if (!rounds.empty())
          readings.rounds[batch].merge(rounds);
        else if (speed && speed->mean > 0 && std::isfinite(speed->mean))
          readings.runs[batch].push_back(run_of(trial));
        else
          all.failed.insert(batch);
    }
  }
  all.times = times_of(readings);
  for (const std::int64_t batch : all.times.batches) all.failed.erase(batch);
  if (!all.times.batches.empty()) all.largest_ok = all.times.batches.back();
  return all;
}

}  // namespace sweetspot::search
