#include "stats/interval.h"

#include <gtest/gtest.h>

namespace sweetspot::stats {
namespace {

// Values of Wilson's interval as tables have them.
TEST(Proportion, IsWilsonsInterval) {
  const Interval half = proportion(0.5, 100);
  EXPECT_NEAR(half.low, 0.4038, 1e-4);
  EXPECT_NEAR(half.high, 0.5962, 1e-4);
  const Interval rare = proportion(0.0, 10);
  EXPECT_NEAR(rare.low, 0, 1e-12);
  EXPECT_NEAR(rare.high, 0.2775, 1e-4);
}

TEST(Proportion, NeverLeavesZeroToOne) {
  EXPECT_LE(proportion(1, 10'000).high, 1 + 1e-12);
  EXPECT_LT(proportion(1, 10'000).low, 1);
}

}  // namespace
}  // namespace sweetspot::stats
