#include "convergence/learning_rate_rule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sweetspot::convergence {
namespace {

constexpr std::array<std::pair<LearningRateRule, std::string_view>, 5> names{
    {{LearningRateRule::none, "none"},
     {LearningRateRule::linear, "linear"},
     {LearningRateRule::square_root, "square-root"},
     {LearningRateRule::adascale, "adascale"},
     {LearningRateRule::surge, "surge"}}};

// AdaScale's gain r = (σ² + μ²) / (σ²/S + μ²), where σ² is the variance of the base batch's
// gradient, tr(Σ)/base, and S = batch/base; divided by μ² = |G|² it depends only on the noise
// scale.
double adascale_gain(double base, double batch, double noise) {
  return (noise / base + 1) / (noise / batch + 1);
}

// Proportional to the best rate: 2 / (√(noise/batch) + √(batch/noise)) is 1 at the noise scale.
double surge_share(double batch, double noise) {
  return 2 / (std::sqrt(noise / batch) + std::sqrt(batch / noise));
}

}  // namespace

std::string_view name(LearningRateRule rule) {
  return std::ranges::find(names, rule, &decltype(names)::value_type::first)->second;
}

std::optional<LearningRateRule> learning_rate_rule(std::string_view name) {
  const auto found = std::ranges::find(names, name, &decltype(names)::value_type::second);
  if (found == names.end()) return std::nullopt;
  return found->first;
}

LearningRateRule default_rule(bool adaptive, bool noise_known) {
  const LearningRateRule rule = adaptive ? LearningRateRule::surge : LearningRateRule::adascale;
  return noise_known ? rule : rule_without_noise(rule);
}

LearningRateRule rule_without_noise(LearningRateRule rule) {
  switch (rule) {
    case LearningRateRule::adascale:
      return LearningRateRule::linear;
    case LearningRateRule::surge:
      return LearningRateRule::square_root;
    case LearningRateRule::none:
    case LearningRateRule::linear:
    case LearningRateRule::square_root:
      return rule;
  }
  return rule;
}

double learning_rate(LearningRateRule rule, double base_rate, double base_batch, double batch,
                     std::optional<double> noise_scale) {
  if (noise_scale && !(*noise_scale > 0)) noise_scale.reset();
  if (!noise_scale) rule = rule_without_noise(rule);
  switch (rule) {
    case LearningRateRule::none:
      return base_rate;
    case LearningRateRule::linear: {
      // Beyond the noise scale of the base batch the rate is already flat.
      const double most = noise_scale ? *noise_scale : std::max(base_batch, batch);
      return base_rate * std::min(batch, most) / std::min(base_batch, most);
    }
    case LearningRateRule::square_root:
      return base_rate * std::sqrt(batch / base_batch);
    case LearningRateRule::adascale:
      return base_rate * adascale_gain(base_batch, batch, *noise_scale);
    case LearningRateRule::surge:
      return base_rate * surge_share(batch, *noise_scale) / surge_share(base_batch, *noise_scale);
  }
  return base_rate;
}

}  // namespace sweetspot::convergence
