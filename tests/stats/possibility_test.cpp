#include "stats/possibility.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sweetspot::stats {
namespace {

TEST(Possibility, AnExactMeasurementTellsAllThatIsUnknown) {
  const auto found = told({{0.4, 1, 0.2}, {0.6, 2, 0}}, 0);
  EXPECT_DOUBLE_EQ(found[0].deviation, 0.2);
  EXPECT_DOUBLE_EQ(found[1].deviation, 0);
  EXPECT_DOUBLE_EQ(summary(found).mean, 1.6);
}

// As much error as is unknown: the mean moves by its half each way, in variance.
TEST(Possibility, AnInexactMeasurementMovesTheMeanByLess) {
  EXPECT_NEAR(told({{1, 0, 0.1}}, 0.1)[0].deviation, 0.1 / std::sqrt(2), 1e-12);
  EXPECT_LT(told({{1, 0, 0.1}}, 10)[0].deviation, 0.002);
  EXPECT_LT(probability_above(told({{1, 0, 0.1}}, 0.2), 0.1),
            probability_above(told({{1, 0, 0.1}}, 0.1), 0.1));
}

}  // namespace
}  // namespace sweetspot::stats
