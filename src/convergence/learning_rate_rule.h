#pragma once
#include <optional>
#include <string_view>

namespace sweetspot::convergence {

// How the learning rate scales with the batch.
enum class LearningRateRule {
  none,         // the same for every batch
  linear,       // Goyal et al. 2017; constant beyond the noise scale, if that is known
  square_root,  // Malladi et al. 2022, for Adam
  adascale,     // Johnson et al. 2020: linear below the noise scale, flat beyond, smoothly
  surge,        // Li et al. 2024: like the square root below the noise scale, falling beyond it
};
std::string_view name(LearningRateRule rule);
std::optional<LearningRateRule> learning_rate_rule(std::string_view name);

// The default for an optimizer that divides by the size of its gradients (Adam) or not (SGD with or
// without momentum), with or without a known noise scale.
LearningRateRule default_rule(bool adaptive, bool noise_known);

// The fallback of a rule that needs the noise scale if that is unknown.
LearningRateRule rule_without_noise(LearningRateRule rule);

// The learning rate for `batch`, if `base_rate` suits `base_batch`. `noise_scale` in samples; if it
// is unknown, or 0, rule_without_noise() is used.
double learning_rate(LearningRateRule rule, double base_rate, double base_batch, double batch,
                     std::optional<double> noise_scale);

}  // namespace sweetspot::convergence
