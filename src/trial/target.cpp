#include "trial/target.h"

#include <fmt/format.h>

#include <algorithm>

namespace sweetspot::trial {
namespace {

// "99%", "98.5%", "98.71%": no trailing zeros.
std::string percent(double share) {
  std::string digits = fmt::format("{:.2f}", 100 * share);
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits + "%";
}

}  // namespace

std::string_view name(Target::Metric metric) {
  return metric == Target::Metric::accuracy ? "accuracy" : "loss";
}

std::string words(Target::Metric metric, double value) {
  return metric == Target::Metric::accuracy ? percent(value) : fmt::format("loss {:.4g}", value);
}

std::string words(const Target& target) { return words(target.metric, target.value); }

std::optional<double> value_of(const Evaluation& evaluation, Target::Metric metric) {
  return metric == Target::Metric::accuracy ? evaluation.test_accuracy : evaluation.test_loss;
}

bool is_better(double value, double than, Target::Metric metric) {
  return metric == Target::Metric::accuracy ? value > than : value < than;
}

bool is_reached(const Evaluation& evaluation, const Target& target) {
  const std::optional<double> value = value_of(evaluation, target.metric);
  return value && evaluation.samples > 0 && !is_better(target.value, *value, target.metric);
}

std::optional<double> times_off(const Evaluation& evaluation, const Target& target) {
  const std::optional<double> value = value_of(evaluation, target.metric);
  if (!value) return std::nullopt;
  const bool is_share = target.metric == Target::Metric::accuracy;
  const double error = is_share ? 1 - *value : *value;
  const double allowed = is_share ? 1 - target.value : target.value;
  return allowed > 0 && error > 0 ? std::optional(error / allowed) : std::nullopt;
}

std::optional<Reached> first_reached(std::span<const Evaluation> evaluations,
                                     const Target& target) {
  const Evaluation start;
  const Evaluation* before = &start;
  std::optional<double> value_before;
  for (const Evaluation& at : evaluations) {
    const std::optional<double> value = value_of(at, target.metric);
    if (!value) continue;
    if (is_better(target.value, *value, target.metric)) {
      before = &at, value_before = value;
      continue;
    }
    if (!is_reached(at, target)) continue;
    // A first evaluation does not show when between it and the start the target was reached.
    const double share =
        value_before ? (target.value - *value_before) / (*value - *value_before) : 1;
    const auto between = [share](auto from, auto to) {
      return static_cast<double>(from) +
             share * (static_cast<double>(to) - static_cast<double>(from));
    };
    return Reached{between(before->steps, at.steps), between(before->samples, at.samples),
                   between(before->train_seconds, at.train_seconds)};
  }
  return std::nullopt;
}

std::optional<double> best(std::span<const Evaluation> evaluations, Target::Metric metric) {
  std::optional<double> found;
  for (const Evaluation& at : evaluations)
    if (const auto value = value_of(at, metric);
        value && (!found || is_better(*value, *found, metric)))
      found = value;
  return found;
}

}  // namespace sweetspot::trial
