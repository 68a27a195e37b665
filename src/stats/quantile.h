#pragma once
#include <optional>
#include <span>
#include <vector>

namespace sweetspot::stats {

// The half-width of a two-sided 95% interval in standard errors, by Student's t; degrees ≥ 1.
double t95(double degrees);
// The same for a bound on one side only.
double t95_one_sided(double degrees);
// The distribution function of Student's t.
double t_below(double t, double degrees);
// The same for a normal distribution.
constexpr double normal95 = 1.959963984540054;

constexpr double square(double value) { return value * value; }

std::optional<double> median(std::span<const double> values);
// 1.4826 × the median distance from the median: a standard deviation for normal data, insensitive
// to heavy tails.
std::optional<double> robust_deviation(std::span<const double> values);

// Flags values further above or below the median than `reach` robust deviations. Flags, never
// deletes: the estimates keep every value. If more than half of the values are equal the deviation
// is zero; 1% of the median then replaces it.
std::vector<bool> outliers(std::span<const double> values, double reach = 5);

}  // namespace sweetspot::stats
