#pragma once
#include <optional>
#include <span>

namespace sweetspot::stats {

// The half-width of a two-sided 95% interval in standard errors, by Student's t; degrees ≥ 1.
double t95(double degrees);
// The distribution function of Student's t.
double t_below(double t, double degrees);
// The same for a normal distribution.
constexpr double normal95 = 1.959963984540054;

// Standard normal density and distribution.
double normal_density(double z);
double normal_below(double z);

constexpr double square(double value) { return value * value; }

std::optional<double> median(std::span<const double> values);
// 1.4826 × the median distance from the median: a standard deviation for normal data, insensitive
// to heavy tails.
std::optional<double> robust_deviation(std::span<const double> values);

}  // namespace sweetspot::stats
