#pragma once
#include <span>
#include <vector>

namespace sweetspot::stats {

// Flags values further above or below the median than `reach` robust deviations. Flags, never
// deletes: the estimates keep every value. If more than half of the values are equal the deviation
// is zero; 1% of the median then replaces it.
std::vector<bool> outliers(std::span<const double> values, double reach = 5);

}  // namespace sweetspot::stats
