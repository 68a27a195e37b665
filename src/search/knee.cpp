#include "search/knee.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "stats/experiment.h"
#include "stats/quantile.h"

namespace sweetspot::search {
namespace {

using namespace experiment;

constexpr int curve_count = 500;

double octave(double batch) { return std::log2(batch); }
double octave(std::int64_t batch) { return octave(static_cast<double>(batch)); }

// Where a curve first comes within the tolerance of the best, interpolated between two sizes; the
// largest size if it does not, where the best is another axis's.
double knee_of(const std::vector<double>& log_speeds, const std::vector<std::int64_t>& sizes,
               double level) {
  const auto first = std::ranges::find_if(log_speeds, [&](double s) { return s >= level; });
  if (first == log_speeds.end()) return static_cast<double>(sizes.back());
  const auto i = static_cast<std::size_t>(first - log_speeds.begin());
  if (i == 0) return static_cast<double>(sizes.front());
  const double below = log_speeds[i - 1], above = log_speeds[i];
  const double share = (level - below) / (above - below);
  return std::exp2(octave(sizes[i - 1]) + share * (octave(sizes[i]) - octave(sizes[i - 1])));
}

core::Interval interval(std::vector<double> values) {
  const auto at = [&](double share) {
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(
                                            share * static_cast<double>(values.size() - 1) + 0.5);
    std::ranges::nth_element(values, place);
    return *place;
  };
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  return {mean, at(0.025), at(0.975)};
}

bool is_power_of_two(std::int64_t batch) {
  return std::has_single_bit(static_cast<std::uint64_t>(batch));
}

}  // namespace

std::size_t knee(std::span<const double> samples_per_second, double tolerance) {
  const double level = (1 - tolerance) * std::ranges::max(samples_per_second);
  return static_cast<std::size_t>(
      std::ranges::find_if(samples_per_second, [&](double speed) { return speed >= level; }) -
      samples_per_second.begin());
}

Losses::Losses(const stats::StepModel& model, std::vector<std::int64_t> sizes,
               const Evidence& evidence, const Limits& limits)
    : sizes_(std::move(sizes)),
      tolerance_(limits.tolerance),
      equal_loss_(experiment::equal_loss(evidence.finest_deviation())) {
  const double tolerance = tolerance_;
  const double price = evidence.repeats ? price_of_excess : coarse_equal_loss / equal_loss_;
  std::vector<std::vector<double>> powers;
  if (!evidence.powers.empty()) powers = energy::power_curves(evidence.powers, sizes_, curve_count);
  std::vector<double> octaves;
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    octaves.push_back(octave(sizes_[i]));
    if (evidence.knows(sizes_[i])) known.push_back(i);
  }
  for (std::vector<double>& drawn : model.curves(sizes_, curve_count)) {
    Curve curve;
    curve.best = limits.best_elsewhere ? std::log(*limits.best_elsewhere)
                                       : -std::numeric_limits<double>::infinity();
    for (const std::size_t i : known) curve.best = std::max(curve.best, drawn[i]);
    curve.knee = knee_of(drawn, sizes_, curve.best + std::log(1 - tolerance));
    if (!powers.empty())
      for (std::size_t i = 0; i < sizes_.size(); ++i)
        curve.log_joules.push_back(powers[curves_.size()][i] - drawn[i]);
    const double knee_octave = octave(curve.knee);
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const double shortfall = 1 - std::exp(drawn[i] - curve.best);
      curve.losses.push_back(price * std::max(0.0, shortfall - tolerance) +
                             price_of_doubling * std::max(0.0, octaves[i] - knee_octave));
    }
    curve.log_speeds = std::move(drawn);
    if (limits.objective == Objective::energy && !powers.empty())
      add_energy_losses(curve, evidence);
    curves_.push_back(std::move(curve));
  }
}

// Replaces the losses by speed. Sizes not known to be within the tolerance still lose by speed.
void Losses::add_energy_losses(Curve& curve, const Evidence& evidence) const {
  const double slowest = curve.best + std::log(1 - tolerance_);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < sizes_.size(); ++i)
    if (evidence.powers.contains(sizes_[i]) && curve.log_speeds[i] >= slowest)
      least = std::min(least, curve.log_joules[i]);
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const double shortfall = 1 - std::exp(curve.log_speeds[i] - curve.best);
    if (shortfall > tolerance_)
      curve.losses[i] = energy::price_of_slowness + shortfall - tolerance_;
    else if (std::isfinite(least))
      curve.losses[i] = std::exp(curve.log_joules[i] - least) - 1;
  }
}

double Losses::expected(std::size_t size) const {
  return mean([&](const Curve& curve) { return curve.losses[size]; });
}

double Losses::gain(std::size_t other, std::size_t answer) const {
  const double equal =
      is_power_of_two(sizes_[answer]) && !is_power_of_two(sizes_[other]) ? equal_loss_ : 0;
  return mean([&](const Curve& curve) {
    return std::max(0.0, curve.losses[answer] - curve.losses[other] - equal);
  });
}

double Losses::surprise(std::size_t other, std::size_t answer) const {
  return mean([&](const Curve& curve) {
    const auto shortfall = [&](double best) {
      return 1 - std::exp(curve.log_speeds[answer] - best);
    };
    return std::max(0.0, shortfall(std::max(curve.best, curve.log_speeds[other])) -
                             std::max(tolerance_, shortfall(curve.best)));
  });
}

double Losses::regret(std::size_t answer) const {
  return mean(
      [&](const Curve& curve) { return curve.losses[answer] - std::ranges::min(curve.losses); });
}

BatchSpeed Losses::speed(std::size_t size) const {
  std::vector<double> speeds, shares, joules;
  for (const Curve& curve : curves_) {
    speeds.push_back(std::exp(curve.log_speeds[size]));
    shares.push_back(std::exp(curve.log_speeds[size] - curve.best));
    if (!curve.log_joules.empty()) joules.push_back(std::exp(curve.log_joules[size]));
  }
  BatchSpeed speed{sizes_[size], interval(std::move(speeds)), interval(std::move(shares)),
                   within_tolerance(size)};
  if (!joules.empty()) speed.joules_per_sample = interval(std::move(joules));
  return speed;
}

double Losses::within_tolerance(std::size_t size) const {
  return mean([&](const Curve& curve) {
    return curve.log_speeds[size] >= curve.best + std::log(1 - tolerance_) ? 1 : 0;
  });
}

double Losses::is_fastest(std::size_t size) const {
  return mean([&](const Curve& curve) { return curve.log_speeds[size] == curve.best ? 1 : 0; });
}

std::pair<double, double> Losses::knee_bounds() const {
  constexpr double share = 0.95;
  std::vector<double> knees;
  for (const Curve& curve : curves_) knees.push_back(curve.knee);
  std::ranges::sort(knees);
  const auto inside = static_cast<std::size_t>(share * static_cast<double>(knees.size()));
  const auto width = [&](std::size_t first) { return knees[first + inside - 1] / knees[first]; };
  std::size_t narrowest = 0;
  for (std::size_t first = 1; first + inside <= knees.size(); ++first)
    if (width(first) < width(narrowest)) narrowest = first;
  return {knees[narrowest], knees[narrowest + inside - 1]};
}

Losses losses(const stats::StepModel& model, const Evidence& evidence, const Range& range,
              const Limits& limits) {
  const auto& measured = evidence.times.batches;
  std::set<std::int64_t> sizes(measured.begin(), measured.end());
  for (const std::int64_t batch : candidates(range, limits))
    if (batch <= measured.back() && !evidence.failed.contains(batch)) sizes.insert(batch);
  return {model, {sizes.begin(), sizes.end()}, evidence, limits};
}

std::size_t best_answer(const Losses& losses, const Evidence& evidence, const Range& range,
                        const Limits& limits, double promised) {
  std::vector<std::pair<double, std::size_t>> measured;  // by expected loss
  const auto collect = [&](const auto& may) {
    for (std::size_t i = 0; i < losses.sizes().size(); ++i)
      if (evidence.knows(losses.sizes()[i]) && may(losses.sizes()[i]))
        measured.emplace_back(losses.expected(i), i);
  };
  const bool needs_energy = limits.objective == Objective::energy && !evidence.powers.empty();
  const auto was_compared = [&](std::int64_t size) {
    const auto rounds = evidence.compared.find(size);
    return rounds == evidence.compared.end() || rounds->second > 0;
  };
  collect([&](std::int64_t size) {
    return size >= range.low && size <= range.high && range.fits(size) && was_compared(size) &&
           (!needs_energy || evidence.powers.contains(size));
  });
  if (measured.empty()) collect([](std::int64_t) { return true; });
  // Where runs repeat, the tolerance is kept: a smaller batch does not make up for its excess.
  const auto is_too_slow = [&](const auto& one) {
    return losses.within_tolerance(one.second) < kept_share ||
           losses.speed(one.second).samples_per_second.mean < (1 - limits.tolerance) * promised;
  };
  if (evidence.repeats && !needs_energy && !std::ranges::all_of(measured, is_too_slow))
    std::erase_if(measured, is_too_slow);
  std::ranges::sort(measured);
  const double equal = measured.front().first + losses.equal_loss();
  const auto first = [&](const auto& wanted) {
    return std::ranges::find_if(measured, [&](const auto& one) {
      return one.first <= equal && wanted(losses.sizes()[one.second]);
    });
  };
  if (const auto same = first([&](std::int64_t size) { return size == limits.previous; });
      same != measured.end())
    return same->second;
  // The smallest power of two that is more likely than not within the tolerance.
  std::optional<std::size_t> within;
  for (const auto& [loss, i] : measured)
    if (loss <= equal && is_power_of_two(losses.sizes()[i]) && losses.within_tolerance(i) >= 0.5)
      within = std::min(i, within.value_or(i));
  if (within) return *within;
  if (const auto power = first(is_power_of_two); power != measured.end()) return power->second;
  std::size_t smallest = measured.front().second;
  for (const auto& [loss, i] : measured)
    if (loss <= measured.front().first + fine_equal_loss) smallest = std::min(smallest, i);
  return smallest;
}

std::vector<std::size_t> open_questions(const Losses& losses, std::size_t answer,
                                        const Evidence& evidence) {
  std::vector<std::size_t> found;
  const double equal = losses.expected(answer) + losses.equal_loss();
  for (std::size_t i = 0; i <= answer; ++i) {
    if (!evidence.knows(losses.sizes()[i])) continue;
    if (i != answer && (!is_power_of_two(losses.sizes()[i]) || losses.expected(i) > equal))
      continue;
    const double within = losses.within_tolerance(i);
    if (within > open_share && within < 1 - open_share) found.push_back(i);
  }
  return found;
}

Decision decision_of(const Losses& known, std::size_t answer, const Evidence& evidence) {
  const auto& sizes = known.sizes();
  Decision decision;
  decision.batch = sizes[answer];
  decision.regret = known.regret(answer);
  double best = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!evidence.knows(sizes[i])) continue;
    decision.speeds.push_back(known.speed(i));
    if (const double speed = decision.speeds.back().samples_per_second.mean; speed > best)
      best = speed, decision.best_batch = sizes[i];
  }
  // An answer that is slightly larger than the knee because it is a power of two must still be
  // within its own bounds.
  const auto [low, high] = known.knee_bounds();
  decision.knee_low = std::min(static_cast<std::int64_t>(std::floor(low + 1e-6)), decision.batch);
  decision.knee_high = std::max(static_cast<std::int64_t>(std::ceil(high - 1e-6)), decision.batch);
  // From the answer in both directions.
  constexpr double about_as_well = 2 * fine_equal_loss;
  std::size_t from = answer, to = answer;
  const auto alike = [&](std::size_t i) {
    return known.expected(i) <= known.expected(answer) + about_as_well;
  };
  while (from > 0 && alike(from - 1)) --from;
  while (to + 1 < sizes.size() && alike(to + 1)) ++to;
  decision.alike_low = sizes[from], decision.alike_high = sizes[to];
  return decision;
}

}  // namespace sweetspot::search
