#include "../../bench/median_interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace sweetspot::bench {
namespace {

TEST(MedianInterval, NeedsSixValues) {
  EXPECT_FALSE(median_interval(std::vector<double>{}));
  EXPECT_FALSE(median_interval(std::vector<double>{1, 2, 3, 4, 5}));
  const auto found = median_interval(std::vector<double>{6, 1, 5, 2, 4, 3});
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->mean, 3.5);
  EXPECT_DOUBLE_EQ(found->low, 1);  // all six on one side: 1 in 32
  EXPECT_DOUBLE_EQ(found->high, 6);
}

// Of 20 values, the tables have the 6th and the 15th.
TEST(MedianInterval, IsBetweenTheValuesThatTablesName) {
  std::vector<double> values;
  for (int i = 20; i > 0; --i) values.push_back(i);
  const auto found = median_interval(values);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->low, 6);
  EXPECT_DOUBLE_EQ(found->high, 15);
}

TEST(MedianInterval, IsNotMovedByAHeavyTail) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(i % 2 ? 1.01 : 0.99);
  values[7] = values[8] = values[9] = 1e9;
  EXPECT_LE(median_interval(values)->high, 1.01);
}

// The coverage itself, where the mean has no interval at all: Cauchy's distribution.
TEST(MedianInterval, HoldsTheTrueOneAboutNineteenTimesInTwenty) {
  std::mt19937 random(11);
  std::cauchy_distribution<double> noise(2, 0.1);
  constexpr int runs = 2000;
  int held = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<double> values(61);
    for (double& value : values) value = noise(random);
    const auto found = median_interval(values);
    ASSERT_TRUE(found);
    held += found->low <= 2 && found->high >= 2;
  }
  EXPECT_GE(held, 0.94 * runs);
  EXPECT_LE(held, 0.98 * runs);
}

}  // namespace
}  // namespace sweetspot::bench
