#include "memory/memory_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "stats/quantile.h"

namespace sweetspot::memory {
namespace {

using stats::square;

// How memory grows with the batch, with prior probabilities: proportionally as a rule, rarely with
// its square. Two trials cannot decide, so they are not extrapolated far; the third helps.
struct Growth {
  double power, prior;
};
constexpr std::array growths = {Growth{0.5, 0.02}, Growth{0.8, 0.05}, Growth{0.9, 0.1},
                                Growth{1, 0.6},    Growth{1.1, 0.1},  Growth{1.25, 0.05},
                                Growth{1.5, 0.04}, Growth{2, 0.04}};
// How a trial's memory may deviate from such a curve: by a share of the total, which is small if
// that was observed, and by a share of the growth. Each prior counts as two trials.
struct Deviation {
  double share, prior;
};
constexpr std::array deviations = {Deviation{0.0001, 0.955}, Deviation{0.001, 0.03},
                                   Deviation{0.01, 0.015}};
constexpr double deviation_of_growth = 0.03;
constexpr double prior_degrees = 2;
// The prior variance of the curve's parameters, likewise.
constexpr double prior_share = 1000;
constexpr double certainty = 0.95;
// Relative to the bytes per additional sample so far: below this an allocator is at its limit. (For
// a program that capped itself at 16 GiB, a sample took 39 MiB up to batch 256, and 15 to 25
// beyond.) Growth below the second share of the total says nothing.
constexpr double levelling_off = 2.0 / 3, least_told_growth = 0.05;

// The allocation unit, of which all sizes are multiples: up to that much of each is unknown.
double piece_of(const std::map<std::int64_t, double>& points) {
  std::uint64_t common = 0;
  for (const auto& [batch, bytes] : points)
    common = std::gcd(common, static_cast<std::uint64_t>(bytes));
  return static_cast<double>(common);
}

// The parameters of a line with a weak prior, and their uncertainty (normal and inverse gamma).
struct Posterior {
  double fixed = 0, growth = 0;
  double fixed_variance = 0, growth_variance = 0, covariance = 0;  // by the variance
  double degrees = 0, variance = 0;
  double log_evidence = 0;
};

Posterior posterior(const std::map<std::int64_t, double>& points, double power, double largest,
                    double deviation, double open) {
  const double prior = square(deviation / open);
  double xx = prior, x1 = 0, count = prior, y1 = 0, yx = 0;
  for (const auto& [batch, bytes] : points) {
    const double x = std::pow(static_cast<double>(batch) / largest, power);
    count += 1, x1 += x, xx += x * x;
    y1 += bytes, yx += x * bytes;
  }
  const double determinant = count * xx - x1 * x1;
  Posterior found;
  found.fixed = (xx * y1 - x1 * yx) / determinant;
  found.growth = (count * yx - x1 * y1) / determinant;
  found.fixed_variance = xx / determinant;
  found.growth_variance = count / determinant;
  found.covariance = -x1 / determinant;
  double squares = prior * (square(found.fixed) + square(found.growth));
  for (const auto& [batch, bytes] : points)
    squares += square(bytes - found.fixed -
                      found.growth * std::pow(static_cast<double>(batch) / largest, power));
  constexpr double unknowns = 2;
  found.degrees = prior_degrees + static_cast<double>(points.size()) - unknowns;
  found.variance = (prior_degrees * square(deviation) + squares) / found.degrees;
  found.log_evidence = prior_degrees * std::log(deviation) - 0.5 * std::log(determinant) -
                       0.5 * found.degrees * std::log(found.variance);
  return found;
}

}  // namespace

MemoryFit::MemoryFit(std::span<const trial::Trial> trials, const Predict& predict)
    : predict_(predict) {
  std::map<std::int64_t, double> lacking;
  const auto add = [](std::map<std::int64_t, double>& to, std::int64_t batch, core::Bytes bytes) {
    to[batch] = std::max(to[batch], static_cast<double>(bytes));
  };
  for (const trial::Trial& trial : trials) {
    const std::int64_t batch = trial.setting.batch;
    on_gpu_ |= !trial.gpus.empty();
    if (trial.outcome == trial::Outcome::ok && trial.memory_measured.value_or(0) > 0) {
      add(measured_, batch, *trial.memory_measured);
      if (trial.memory_margin)
        margin_share_ = std::max(margin_share_, static_cast<double>(*trial.memory_margin) /
                                                    static_cast<double>(*trial.memory_measured));
    }
    if (trial.outcome == trial::Outcome::out_of_memory)
      for (const auto& bytes : {trial.memory_wanted, trial.memory_capacity, trial.memory_measured})
        if (bytes) add(lacking, batch, *bytes);
  }
  if (measured_.empty()) return;
  fit(measured_);
  // What it requested when it ran out is a lower bound of what it needs: a shape that predicts less
  // becomes less likely.
  std::map<std::int64_t, double> all = measured_;
  for (const auto& [batch, bytes] : lacking)
    if (batch > measured_.rbegin()->first && below(batch, bytes) > certainty)
      all.try_emplace(batch, bytes);  // no shape expected that much
  if (all.size() > measured_.size()) fit(all);
  for (const auto& [batch, bytes] : lacking)
    if (batch > measured_.rbegin()->first && !all.contains(batch)) {
      double sum = 0;
      for (Shape& shape : shapes_)
        sum += shape.weight *= std::max(1e-9, 1 - below(shape, batch, bytes));
      for (Shape& shape : shapes_) shape.weight /= sum;
    }
}

void MemoryFit::fit(const std::map<std::int64_t, double>& points) {
  shapes_.clear();
  largest_ = static_cast<double>(points.rbegin()->first);
  double known = 0, least = points.begin()->second;
  for (const auto& [batch, bytes] : points)
    known = std::max(known, bytes), least = std::min(least, bytes);
  // With memory taken in units, up to one unit is missing: a uniform error.
  const double of_pieces = square(piece_of(points)) / 12;
  const double of_growth = square(deviation_of_growth * (known - least));
  double most = -std::numeric_limits<double>::infinity();
  for (const Deviation& whole : deviations)
    for (const Growth& growth : growths) {
      const double deviation = std::sqrt(square(whole.share * known) + of_growth + of_pieces);
      const Posterior found =
          posterior(points, growth.power, largest_, deviation, prior_share * known);
      shapes_.push_back({growth.power, std::log(whole.prior * growth.prior) + found.log_evidence,
                         found.fixed, found.growth, found.degrees, found.variance,
                         found.fixed_variance, found.growth_variance, found.covariance});
      most = std::max(most, shapes_.back().weight);
    }
  double sum = 0;
  for (Shape& shape : shapes_) sum += shape.weight = std::exp(shape.weight - most);
  for (Shape& shape : shapes_) shape.weight /= sum;
}

bool MemoryFit::fits(std::int64_t batch, core::Bytes allowed) const {
  const auto bytes = static_cast<double>(allowed);
  if (predicted(batch) || measured_.empty()) return most_bytes(batch).value_or(0) <= bytes;
  if (batch <= measured_.rbegin()->first) return *most_bytes(batch) <= bytes;
  return below(batch, bytes / margin_share()) >= certainty;
}

bool MemoryFit::lacks(std::int64_t batch, core::Bytes allowed) const {
  const auto bytes = static_cast<double>(allowed);
  if (predicted(batch) || measured_.empty()) return most_bytes(batch).value_or(0) > bytes;
  return below(batch, bytes) < 1 - certainty;
}

std::optional<double> MemoryFit::most_bytes(std::int64_t batch) const {
  if (predict_)
    if (const auto bytes = predict_(batch)) return static_cast<double>(*bytes);
  if (measured_.empty()) return std::nullopt;
  // A larger batch that was measured bounds this one.
  if (const auto larger = measured_.lower_bound(batch); larger != measured_.end())
    return margin_share() * larger->second;
  return margin_share() * quantile(batch, certainty);
}

std::optional<double> MemoryFit::expected_bytes(std::int64_t batch) const {
  if (predict_)
    if (const auto bytes = predict_(batch)) return static_cast<double>(*bytes);
  if (measured_.size() < 2) return std::nullopt;
  const Shape& likeliest = *std::ranges::max_element(shapes_, {}, &Shape::weight);
  return std::max(
      0.0, likeliest.fixed +
               likeliest.growth * std::pow(static_cast<double>(batch) / largest_, likeliest.power));
}

std::optional<double> MemoryFit::least_bytes(std::int64_t batch) const {
  if (predicted(batch)) return expected_bytes(batch);
  if (measured_.size() < 2) return std::nullopt;
  return quantile(batch, 1 - certainty);
}

bool MemoryFit::levels_off() const {
  if (!on_gpu_ || measured_.size() < 3 || predicted(measured_.rbegin()->first)) return false;
  const auto last = std::prev(measured_.end()), middle = std::prev(last), first = std::prev(middle);
  const auto growth = [](const auto& from, const auto& to) {
    return (to->second - from->second) / static_cast<double>(to->first - from->first);
  };
  const bool grew = middle->second - first->second > least_told_growth * middle->second;
  return grew && growth(middle, last) < levelling_off * growth(first, middle);
}

// Larger batches take no less, and by each shape no more than if nothing were fixed. A single
// measurement says nothing about the shape.
double MemoryFit::below(const Shape& shape, std::int64_t batch, double bytes) const {
  const auto [largest, known] = *measured_.rbegin();
  if (batch > largest) {
    if (bytes < known) return 0;
    // Growth that is indistinguishable from none, as with large allocation units, proves nothing
    // about larger batches: twice the largest is the next to try.
    constexpr double least_growth_share = 1e-6;
    const bool has_grown = known - measured_.begin()->second > least_growth_share * known;
    if (!has_grown && measured_.size() > 1 && batch <= 2 * largest) return 1;
    if (!has_grown && bytes < known * static_cast<double>(batch) / static_cast<double>(largest))
      return 0.5;
    const double most = known * std::pow(static_cast<double>(batch) / static_cast<double>(largest),
                                         measured_.size() == 1 ? 1 : shape.power);
    if (bytes >= most) return 1;
  }
  const double x = std::pow(static_cast<double>(batch) / largest_, shape.power);
  const double scale =
      std::sqrt(shape.variance * (1 + shape.fixed_variance + x * x * shape.growth_variance +
                                  2 * x * shape.covariance));
  return stats::t_below((bytes - shape.fixed - x * shape.growth) / scale, shape.degrees);
}

double MemoryFit::below(std::int64_t batch, double bytes) const {
  double probability = 0;
  for (const Shape& shape : shapes_) probability += shape.weight * below(shape, batch, bytes);
  return probability;
}

double MemoryFit::quantile(std::int64_t batch, double share) const {
  double low = 0, high = 1;
  while (below(batch, high) < share) low = high, high *= 2;
  constexpr int halvings = 50;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (below(batch, middle) < share ? low : high) = middle;
  }
  return high;
}

Expected expected(std::span<const trial::Trial> trials, const trial::Setting& setting) {
  std::vector<trial::Trial> alike;
  for (const trial::Trial& trial : trials) {
    trial::Setting same = trial.setting;
    same.batch = setting.batch, same.accumulation = setting.accumulation;
    if (same != setting) continue;
    alike.push_back(trial);
    alike.back().setting.batch = trial.setting.micro_batch();
  }
  const Predict none;
  const MemoryFit fit(alike, none);
  const auto as_bytes = [](std::optional<double> value) -> std::optional<core::Bytes> {
    if (!value) return std::nullopt;
    return static_cast<core::Bytes>(std::llround(std::max(0.0, *value)));
  };
  return {as_bytes(fit.expected_bytes(setting.micro_batch())),
          as_bytes(fit.least_bytes(setting.micro_batch()))};
}

}  // namespace sweetspot::memory
