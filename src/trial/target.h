#pragma once
#include <optional>
#include <span>
#include <string>

#include "trial/trial.h"

namespace sweetspot::trial {

// The target of a training run on the test split: at least this accuracy, or at most this loss.
struct Target {
  enum class Metric { accuracy, loss };
  Metric metric = Metric::accuracy;
  double value = 0.99;
  bool operator==(const Target&) const = default;
};
std::string_view name(Target::Metric metric);  // "accuracy", "loss"
std::string words(const Target& target);       // "99%", "loss 0.1"
// A value of that metric: "98.71%", "loss 0.1234".
std::string words(Target::Metric metric, double value);

std::optional<double> value_of(const Evaluation& evaluation, Target::Metric metric);
bool is_better(double value, double than, Target::Metric metric);
// By training: an evaluation before the first step that could be seen says nothing of its cost.
bool is_reached(const Evaluation& evaluation, const Target& target);
// The error relative to the allowed one; 1 and less: reached. nullopt if that is undefined, as for
// an accuracy of 100%.
std::optional<double> times_off(const Evaluation& evaluation, const Target& target);

// The cost to the target, interpolated linearly between the first evaluation that reached it and
// the previous one.
struct Reached {
  double steps = 0, samples = 0, train_seconds = 0;
};
std::optional<Reached> first_reached(std::span<const Evaluation> evaluations, const Target& target);
// The best value of all; nullopt if the metric never appeared.
std::optional<double> best(std::span<const Evaluation> evaluations, Target::Metric metric);

}  // namespace sweetspot::trial
