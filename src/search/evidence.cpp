#include "search/evidence.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stats/quantile.h"

namespace sweetspot::search {
namespace {

// No machine repeats itself better than this between two trials, however tight each was.
constexpr double least_deviation_share = 0.003;
// What two or three repeated trials say of the machine is itself a guess: this deviation is mixed
// in, with the weight of as many trials.
constexpr double usual_deviation_share = 0.015, usual_freedom = 2;

// Where neighbours disturbed half of a trial, some of it went unnoticed in the other half: trials
// of one batch were seen to lie 3% apart then.
constexpr double disturbed_deviation_share = 0.06;

// A trial beside a busy process tells little; nothing beside one that was undisturbed.
constexpr double contended_deviation_share = 0.1;

// One measured speed, as a logarithm, and what its own steps say of its error.
struct Reading {
  double log_seconds = 0, variance = 0;
  bool contended = false;
};
using Readings = std::map<std::int64_t, std::vector<Reading>>;

// How far repeated trials of one batch lie apart beyond what their intervals explain: what the
// machine changes from one moment to another, which no trial sees by itself. (DerSimonian and
// Laird's estimate, over all batches.)
double variance_between(const Readings& readings) {
  double excess = 0, scale = 0, freedom = 0;
  for (const auto& [batch, of_batch] : readings) {
    if (of_batch.size() < 2) continue;
    double weights = 0, squares = 0, weighted = 0;
    for (const Reading& reading : of_batch) {
      const double weight = 1 / reading.variance;
      weights += weight, squares += weight * weight, weighted += weight * reading.log_seconds;
    }
    for (const Reading& reading : of_batch) {
      const double off = reading.log_seconds - weighted / weights;
      excess += off * off / reading.variance;
    }
    const double degrees = static_cast<double>(of_batch.size()) - 1;
    excess -= degrees, freedom += degrees;
    scale += weights - squares / weights;
  }
  if (freedom == 0) return 0;
  const double usual = usual_deviation_share * usual_deviation_share;
  return (freedom * std::max(0.0, excess / scale) + usual_freedom * usual) /
         (freedom + usual_freedom);
}

stats::StepPoint point(std::int64_t batch, const std::vector<Reading>& readings, double between) {
  double weights = 0, weighted = 0;
  for (const Reading& reading : readings) {
    const double weight = 1 / (reading.variance + between);
    weights += weight, weighted += weight * reading.log_seconds;
  }
  return {batch, std::exp(weighted / weights), 1 / std::sqrt(weights)};
}

Reading reading(const trial::Trial& trial) {
  const trial::Interval& speed = *trial.samples_per_second;
  const double half = std::log(speed.high / speed.low) / 2;  // not finite when unknown
  const double deviation = std::isfinite(half) && half > 0 ? half / stats::normal95 : 0;
  const double unnoticed = disturbed_deviation_share * trial.contention.disturbed_share.value_or(0);
  return {
      std::log(static_cast<double>(trial.setting.batch) / speed.mean),
      deviation * deviation + unnoticed * unnoticed + least_deviation_share * least_deviation_share,
      trial.contention.contended};
}

void heed_contention(std::vector<Reading>& readings) {
  const bool calm = std::ranges::any_of(readings, [](const Reading& r) { return !r.contended; });
  if (calm) std::erase_if(readings, [](const Reading& r) { return r.contended; });
  for (Reading& reading : readings)
    if (reading.contended)
      reading.variance += contended_deviation_share * contended_deviation_share;
}

}  // namespace

Evidence evidence(std::span<const trial::Trial> trials) {
  Evidence all;
  Readings readings;
  for (const trial::Trial& trial : trials) {
    const std::int64_t batch = trial.setting.batch;
    switch (trial.outcome) {
      case trial::Outcome::cancelled:
        continue;
      case trial::Outcome::out_of_memory:
      case trial::Outcome::timed_out:
      case trial::Outcome::killed:  // perhaps for its memory: larger ones would fare no better
        all.too_large = std::min(batch, all.too_large.value_or(batch));
        all.failed.insert(batch);
        continue;
      case trial::Outcome::crashed:
      case trial::Outcome::refused:
        all.failed.insert(batch);
        continue;
      case trial::Outcome::ok:
        break;
    }
    const auto& speed = trial.samples_per_second;
    if (!speed || !(speed->mean > 0) || !std::isfinite(speed->mean)) {
      all.failed.insert(batch);
      continue;
    }
    readings[batch].push_back(reading(trial));
  }
  for (auto& [batch, of_batch] : readings) heed_contention(of_batch);
  const double between = variance_between(readings);
  for (const auto& [batch, of_batch] : readings) {
    all.failed.erase(batch);
    all.points.push_back(point(batch, of_batch, between));
    all.largest_ok = batch;
  }
  return all;
}

}  // namespace sweetspot::search
