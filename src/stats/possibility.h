#pragma once
#include <span>

namespace sweetspot::stats {

// One way the world may be, with its probability: the value in question is normal there. A list of
// them whose weights add up to one is a mixture.
struct Possibility {
  double weight = 1, mean = 0, deviation = 0;
};

// The mixture's mean and standard deviation.
struct Summary {
  double mean = 0, deviation = 0;
};
Summary summary(std::span<const Possibility> possibilities);
// The probability that the value is above `level`.
double probability_above(std::span<const Possibility> possibilities, double level);
// The mean of max(0, value − level): what exceeding it is worth, times how likely it is.
double expected_excess(std::span<const Possibility> possibilities, double level);

}  // namespace sweetspot::stats
