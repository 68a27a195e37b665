#include "convergence/samples_to_target.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace sweetspot::convergence {
namespace {

// Standard deviations of the logarithm of the samples: between seeds, and of a batch from the law.
// Seeds of the paper's network at 98.5% differ by a sixth.
constexpr double seed_deviation = 0.15, law_deviation = 0.15;
constexpr double normal_95 = 1.96;
constexpr int half_grid = 120;
constexpr double grid_deviations = 4;
constexpr std::array lawful = {1.0};
constexpr std::array adaptive = {0.5, 0.65, 0.8, 1.0};

struct BatchMean {
  double batch = 1, log_samples = 0, variance = 0;
};

std::vector<BatchMean> means_of(std::span<const TargetRun> runs) {
  std::map<std::int64_t, std::pair<double, int>> sums;
  for (const TargetRun& run : runs) {
    auto& [sum, count] = sums[run.batch];
    sum += std::log(run.samples), ++count;
  }
  std::vector<BatchMean> means;
  for (const auto& [batch, sum] : sums)
    means.push_back({static_cast<double>(batch), sum.first / sum.second,
                     law_deviation * law_deviation +
                         seed_deviation * seed_deviation / static_cast<double>(sum.second)});
  return means;
}

stats::Interval around(double log_middle, double deviation) {
  return {std::exp(log_middle), std::exp(log_middle - normal_95 * deviation),
          std::exp(log_middle + normal_95 * deviation)};
}

}  // namespace

std::optional<double> critical_batch_by_noise(std::span<const NoiseAt> run, double batch) {
  double updates = 0, samples = 0;  // noise-free, and minimal
  std::int64_t before = 0;
  for (const NoiseAt& at : run) {
    const double progress = static_cast<double>(at.updates - before) / (1 + at.noise_scale / batch);
    updates += progress, samples += progress * at.noise_scale;
    before = at.updates;
  }
  if (updates <= 0 || samples <= 0) return std::nullopt;
  return samples / updates;
}

CriticalBatchGuess guess_by_noise(double noise_batch, bool adaptive_optimizer) {
  constexpr double factor_of_noise = 3;
  if (!adaptive_optimizer) return {noise_batch, factor_of_noise};
  const CriticalBatchGuess usual;
  // Two opinions of the same weight.
  return {std::sqrt(noise_batch * usual.batch), std::exp(std::log(usual.factor) / std::sqrt(2.)),
          true};
}

SamplesToTarget::SamplesToTarget(std::span<const TargetRun> runs, const CriticalBatchGuess& guess) {
  const std::vector<BatchMean> means = means_of(runs);
  const double middle = std::log(guess.batch), deviation = std::log(guess.factor);
  double precision = 0, most = 0;
  for (const BatchMean& mean : means) precision += 1 / mean.variance;
  const std::span<const double> exponents =
      guess.adaptive_optimizer ? std::span<const double>(adaptive) : lawful;
  for (const double exponent : exponents)
    for (int i = -half_grid; i <= half_grid; ++i) {
      const double away = grid_deviations * i / half_grid;
      Hypothesis made{exponent, middle + away * deviation, 0, -away * away / 2};
      for (const BatchMean& mean : means)
        made.log_least +=
            (mean.log_samples - log_factor(mean.batch, made)) / mean.variance / precision;
      for (const BatchMean& mean : means) {
        const double left = mean.log_samples - log_factor(mean.batch, made) - made.log_least;
        made.weight -= left * left / mean.variance / 2;
      }
      most = hypotheses_.empty() ? made.weight : std::max(most, made.weight);
      hypotheses_.push_back(made);
    }
  double sum = 0;
  for (Hypothesis& each : hypotheses_) sum += each.weight = std::exp(each.weight - most);
  for (Hypothesis& each : hypotheses_) each.weight /= sum;
  if (!means.empty()) least_variance_ = 1 / precision;
}

double SamplesToTarget::log_factor(double batch, const Hypothesis& by) {
  return std::log1p(std::exp(by.exponent * (std::log(batch) - by.log_critical)));
}

stats::Interval SamplesToTarget::at(double batch) const {
  double mean = 0, square = 0;
  for (const Hypothesis& each : hypotheses_) {
    const double log_samples = each.log_least + log_factor(batch, each);
    mean += each.weight * log_samples, square += each.weight * log_samples * log_samples;
  }
  const double variance = std::max(0.0, square - mean * mean) + least_variance_ +
                          law_deviation * law_deviation + seed_deviation * seed_deviation;
  return around(mean, std::sqrt(variance));
}

stats::Interval SamplesToTarget::critical_batch() const {
  double mean = 0, square = 0;
  for (const Hypothesis& each : hypotheses_) {
    mean += each.weight * each.log_critical;
    square += each.weight * each.log_critical * each.log_critical;
  }
  return around(mean, std::sqrt(std::max(0.0, square - mean * mean)));
}

}  // namespace sweetspot::convergence
