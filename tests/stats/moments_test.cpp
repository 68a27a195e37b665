#include "stats/moments.h"

#include <gtest/gtest.h>

#include <vector>

#include "stats/quantile.h"

namespace sweetspot::stats {
namespace {

TEST(Moments, KnownValues) {
  const Moments moments(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_EQ(moments.count(), 8);
  EXPECT_DOUBLE_EQ(moments.mean(), 5);
  EXPECT_DOUBLE_EQ(*moments.variance(), 32.0 / 7);
}

TEST(Moments, KeepDigitsFarFromZero) {
  // E[x²]−E[x]² gives 0 or worse here.
  const Moments moments(std::vector<double>{1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16});
  EXPECT_DOUBLE_EQ(*moments.variance(), 30);
}

TEST(Moments, SpreadOfOneValueIsUnknown) {
  EXPECT_FALSE(Moments(std::vector<double>{3}).variance());
  EXPECT_FALSE(Moments().stddev());
}

TEST(Quantiles, AreThoseOfTheTables) {
  EXPECT_NEAR(t95(1), 12.7062, 1e-4);
  EXPECT_NEAR(t95(7), 2.3646, 1e-4);
  EXPECT_NEAR(t95(1e6), normal95, 1e-4);
}

TEST(Median, OddEvenAndNone) {
  EXPECT_DOUBLE_EQ(*median(std::vector<double>{9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(*median(std::vector<double>{9, 1, 5, 2}), 3.5);
  EXPECT_FALSE(median({}));
}

TEST(RobustDeviation, IsNotMovedByATail) {
  EXPECT_DOUBLE_EQ(*robust_deviation(std::vector<double>{1, 2, 3, 4, 1000}), 1.4826);
}

}  // namespace
}  // namespace sweetspot::stats
