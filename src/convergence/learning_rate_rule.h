#pragma once
#include <optional>
#include <string_view>

namespace sweetspot::convergence {

// How the learning rate follows the batch.
enum class LearningRateRule {
  none,         // the same for every batch
  linear,       // Goyal et al. 2017; constant beyond the noise scale, where that is known
  square_root,  // Malladi et al. 2022, for Adam
  adascale,     // Johnson et al. 2020: linear below the noise scale, flat beyond, smoothly
  surge,        // Li et al. 2024: as the square root below the noise scale, falling beyond it
};
std::string_view name(LearningRateRule rule);
std::optional<LearningRateRule> learning_rate_rule(std::string_view name);

// What suits an optimizer, by whether it divides by the size of its gradients (Adam) or not (SGD
// with or without momentum), and by whether the noise scale is known.
LearningRateRule default_rule(bool adaptive, bool noise_known);

// The rule that is left of one that wants the noise scale where that is not known.
LearningRateRule rule_without_noise(LearningRateRule rule);

// The learning rate for `batch`, where `base_rate` suits `base_batch`. `noise_scale` in samples;
// where it is not known, or 0, rule_without_noise() is used.
double learning_rate(LearningRateRule rule, double base_rate, double base_batch, double batch,
                     std::optional<double> noise_scale);

}  // namespace sweetspot::convergence
