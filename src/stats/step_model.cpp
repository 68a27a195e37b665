#include "stats/step_model.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "stats/quantile.h"
#include "stats/step_prior.h"

namespace sweetspot::stats {
namespace {

// Beyond this difference of log-probabilities a hypothesis explains nothing.
constexpr double negligible = 4.5;

double octave(std::int64_t batch) { return std::log2(static_cast<double>(batch)); }

double square(double value) { return value * value; }

double cliff_variance(unsigned sides) { return square(prior::cliff) * std::popcount(sides); }

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

StepModel::StepModel(std::span<const StepPoint> points) : points_(points.begin(), points.end()) {
  std::vector<double> fixed = {0};
  for (double exponent = prior::least_fixed_octave; exponent <= prior::most_fixed_octave;
       exponent += 1 / prior::fixed_per_octave)
    fixed.push_back(std::exp2(exponent));
  for (double samples : fixed)
    for (const prior::Padding& padding : prior::paddings)
      lines_.push_back({samples, padding.multiple, std::log(padding.probability)});
  for (const Line& line : lines_) {
    auto& left = left_.emplace_back();
    for (const StepPoint& point : points_)
      left.push_back(std::log(point.seconds) - line.log_work(point.batch));
  }
  const auto log_prior = [&](std::size_t cliff) {
    return std::log(prior::cliffs_per_octave * gap_octaves(cliff));
  };
  for (std::size_t roughness = 0; roughness < prior::roughness.size(); ++roughness) {
    add_world({}, roughness, 0);
    for (std::size_t one = 0; one <= points_.size(); ++one) {
      add_world({one}, roughness, log_prior(one));
      for (std::size_t two = 0; two < one; ++two)
        add_world({two, one}, roughness, log_prior(one) + log_prior(two));
    }
  }
  normalise();
  find_mean_line();
}

double StepModel::Line::log_work(std::int64_t batch) const {
  const std::int64_t padded = (batch + padded_to - 1) / padded_to * padded_to;
  return std::log(fixed_samples + static_cast<double>(padded));
}

// Between the points on both sides of a cliff.
double StepModel::gap_octaves(std::size_t cliff) const {
  if (cliff == points_.size()) return prior::octaves_beyond_largest;
  return octave(points_[cliff].batch) - (cliff == 0 ? 0 : octave(points_[cliff - 1].batch));
}

std::vector<double> StepModel::smooth_covariance(std::int64_t batch, std::size_t roughness) const {
  std::vector<double> with;
  for (const StepPoint& point : points_) {
    const double octaves = std::abs(octave(batch) - octave(point.batch));
    with.push_back(square(prior::speed) + square(prior::roughness[roughness]) *
                                              std::exp(-octaves / prior::octaves_of_memory));
    if (point.batch == batch) with.back() += square(prior::own);
  }
  return with;
}

void StepModel::add_world(std::vector<std::size_t> cliffs, std::size_t roughness,
                          double log_prior) {
  if (!std::isfinite(log_prior)) return;  // below batch 1 is no room for a cliff
  World world;
  world.cliffs = std::move(cliffs);
  world.roughness = roughness;
  const std::size_t n = points_.size();
  std::vector<double> matrix;
  for (std::size_t i = 0; i < n; ++i) {
    world.sides.push_back(places(world, points_[i].batch).front().sides);
    const auto smooth = smooth_covariance(points_[i].batch, roughness);
    matrix.insert(matrix.end(), smooth.begin(), smooth.end());
    for (std::size_t j = 0; j <= i; ++j)
      matrix[i * n + j] += cliff_variance(world.sides[i] & world.sides[j]);
    matrix[i * n + i] += square(points_[i].deviation_share);
  }
  world.covariance = Cholesky(std::move(matrix), n);
  weigh(world, log_prior);
  worlds_.push_back(std::move(world));
}

// Each line by its likelihood, as a logarithm.
void StepModel::weigh(World& world, double log_prior) {
  const double constant = log_prior - world.covariance.half_log_determinant();
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    auto whitened = world.covariance.whiten(left_[i]);
    const double weight = constant + lines_[i].log_prior - dot(whitened, whitened) / 2;
    world.hypotheses.push_back({i, weight, std::move(whitened)});
  }
}

// From logarithms to probabilities.
void StepModel::normalise() {
  double best = -1e300, total = 0;
  for (const World& world : worlds_)
    for (const Hypothesis& one : world.hypotheses) best = std::max(best, one.weight);
  for (World& world : worlds_) {
    std::erase_if(world.hypotheses,
                  [&](const Hypothesis& one) { return one.weight < best - negligible; });
    for (Hypothesis& one : world.hypotheses) total += one.weight = std::exp(one.weight - best);
  }
  std::erase_if(worlds_, [](const World& world) { return world.hypotheses.empty(); });
  for (World& world : worlds_)
    for (Hypothesis& one : world.hypotheses) one.weight /= total;
}

void StepModel::find_mean_line() {
  double log_speed = 0, fixed_samples = 0;
  for (const World& world : worlds_) {
    // The speed's part of the forecast: its covariance with every measurement is the same.
    const auto with =
        world.covariance.whiten(std::vector<double>(points_.size(), square(prior::speed)));
    for (const Hypothesis& one : world.hypotheses) {
      log_speed += one.weight * dot(with, one.whitened);
      fixed_samples += one.weight * lines_[one.line].fixed_samples;
    }
  }
  per_sample_seconds_ = std::exp(log_speed);
  fixed_seconds_ = fixed_samples * per_sample_seconds_;
}

// Where a batch may be in a world: a cliff in the batch's own gap may be on either side of it.
std::vector<StepModel::Where> StepModel::places(const World& world, std::int64_t batch) const {
  const auto above = std::ranges::upper_bound(points_, batch, {}, &StepPoint::batch);
  const auto rank = static_cast<std::size_t>(above - points_.begin());  // points at or below it
  const bool measured = rank > 0 && points_[rank - 1].batch == batch;
  std::vector<Where> all = {Where{}};
  for (std::size_t i = 0; i < world.cliffs.size(); ++i) {
    const std::size_t cliff = world.cliffs[i];
    double behind = rank > cliff ? 1 : 0;
    if (!measured && rank == cliff) {
      const double from = cliff == 0 ? 0 : octave(points_[cliff - 1].batch);
      behind = std::min((octave(batch) - from) / gap_octaves(cliff), 1.0);
    }
    std::vector<Where> split;
    for (const Where& where : all) {
      if (behind < 1) split.push_back({where.probability * (1 - behind), where.sides});
      if (behind > 0) split.push_back({where.probability * behind, where.sides | 1u << i});
    }
    all = std::move(split);
  }
  return all;
}

std::vector<Possibility> StepModel::forecast(std::int64_t batch,
                                             std::optional<std::int64_t> reference) const {
  std::vector<double> log_samples;  // by line: what its work alone would make of the ratio
  for (const Line& line : lines_) {
    log_samples.push_back(std::log(static_cast<double>(batch)) - line.log_work(batch));
    if (reference)
      log_samples.back() -= std::log(static_cast<double>(*reference)) - line.log_work(*reference);
  }
  std::vector<std::vector<double>> here, there;  // covariances, by roughness
  for (std::size_t i = 0; i < prior::roughness.size(); ++i) {
    here.push_back(smooth_covariance(batch, i));
    if (reference) there.push_back(smooth_covariance(*reference, i));
  }
  const auto point =
      reference ? std::ranges::find(points_, *reference, &StepPoint::batch) : points_.end();
  std::vector<Possibility> all;
  for (const World& world : worlds_) {
    const double own =
        square(prior::speed) + square(prior::roughness[world.roughness]) + square(prior::own);
    const std::size_t other = static_cast<std::size_t>(point - points_.begin());
    for (const auto& [probability, sides] : places(world, batch)) {
      std::vector<double> with = here[world.roughness];
      for (std::size_t i = 0; i < with.size(); ++i)
        with[i] += cliff_variance(sides & world.sides[i]);
      double variance = own + cliff_variance(sides);
      if (reference) {
        const Sides others = world.sides[other];
        variance += own + cliff_variance(others) - 2 * with[other];
        for (std::size_t i = 0; i < with.size(); ++i)
          with[i] -= there[world.roughness][i] + cliff_variance(others & world.sides[i]);
      }
      with = world.covariance.whiten(std::move(with));
      const double deviation = std::sqrt(std::max(variance - dot(with, with), 0.0));
      for (const Hypothesis& one : world.hypotheses)
        all.push_back(
            {one.weight * probability, log_samples[one.line] - dot(with, one.whitened), deviation});
    }
  }
  return all;
}

std::vector<Possibility> StepModel::throughput(std::int64_t batch) const {
  return forecast(batch, std::nullopt);
}

std::vector<Possibility> StepModel::ratio(std::int64_t batch, std::int64_t reference) const {
  return forecast(batch, reference);
}

Interval StepModel::throughput_interval(std::int64_t batch) const {
  const auto [mean, deviation] = summary(throughput(batch));
  return {std::exp(mean), std::exp(mean - normal95 * deviation),
          std::exp(mean + normal95 * deviation)};
}

}  // namespace sweetspot::stats
