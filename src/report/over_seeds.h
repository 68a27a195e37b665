#pragma once
#include <optional>
#include <span>

#include "stats/interval.h"

namespace sweetspot::report {

// The mean over runs with different seeds and its 95% interval by Student's t, which with two runs
// reaches 12.7 standard errors: cut off where no value can lie, which takes nothing from its 95%.
// Nothing below two values.
std::optional<stats::Interval> mean_share(std::span<const double> values);    // in [0, 1]
std::optional<stats::Interval> mean_seconds(std::span<const double> values);  // from 0

}  // namespace sweetspot::report
