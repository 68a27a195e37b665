#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "stats/interval.h"

namespace sweetspot::stats {
namespace {

TEST(Ratio, TurnedRoundItsIntervalTurnsRound) {
  const Interval a{30, 28, 33}, b{10, 9, 10.5};
  const auto forth = ratio(a, b), back = ratio(b, a);
  ASSERT_TRUE(forth && back);
  EXPECT_DOUBLE_EQ(forth->mean, 3);
  EXPECT_NEAR(forth->low, 1 / back->high, 1e-12);
  EXPECT_NEAR(forth->high, 1 / back->low, 1e-12);
}

TEST(Ratio, OfAnExactNumberIsAsWideAsTheOther) {
  const auto found = ratio({20, 18, 25}, {10, 10, 10});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->low, 1.8, 1e-12);
  EXPECT_NEAR(found->high, 2.5, 1e-12);
}

TEST(Ratio, OfWhatMayBeZeroIsUnknown) {
  EXPECT_FALSE(ratio({1, 0, 2}, {1, 1, 1}));
  EXPECT_FALSE(ratio({1, 1, 1}, {1, -1, 2}));
  EXPECT_FALSE(ratio({std::nan(""), 1, 2}, {1, 1, 1}));
  EXPECT_FALSE(ratio({1, 1, INFINITY}, {1, 1, 1}));
}

TEST(Combined, RunsThatDifferWidenIt) {
  const std::vector<std::vector<double>> groups = {{100, 110}, {50, 55}, {70}};
  const auto between = spread(groups);
  ASSERT_TRUE(between);
  EXPECT_EQ(between->degrees, 2);
  EXPECT_NEAR(std::sqrt(between->variance), std::log(1.1) / std::sqrt(2), 1e-12);
  for (const auto& group : groups) {
    const auto found = combined(group, between);
    ASSERT_TRUE(found);
    EXPECT_GT(found->high / found->mean, 1.1);  // two degrees: four standard errors
  }
  EXPECT_NEAR(combined(groups[0], {})->low, std::sqrt(100 * 110), 1e-9);  // nothing to widen it
}

TEST(Combined, IsUnknownForWhatIsNotAboveZero) {
  EXPECT_FALSE(combined(std::vector<double>{}, {}));
  EXPECT_FALSE(combined(std::vector<double>{1, 0}, {}));
  EXPECT_FALSE(combined(std::vector<double>{1, std::nan("")}, {}));
  EXPECT_FALSE(spread(std::vector<std::vector<double>>{{1}, {-1, 1}}));
}

// The coverage itself: 95% of true ratios are inside. Five batches, three runs of each, 3% apart.
TEST(Ratio, HoldsTheTrueOneAboutNineteenTimesInTwenty) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> noise(0, 0.03);
  const auto measured = [&](double truth) {
    std::vector<std::vector<double>> groups(5);
    for (auto& group : groups)
      for (int run = 0; run < 3; ++run) group.push_back(truth * noise(random));
    return *combined(groups[0], spread(groups));
  };
  int held = 0;
  constexpr int times = 2000;
  for (int i = 0; i < times; ++i) {
    const auto found = ratio(measured(120), measured(100));
    held += found->low <= 1.2 && 1.2 <= found->high;
  }
  EXPECT_GT(held, 0.93 * times);
  EXPECT_LT(held, 0.99 * times);
}

}  // namespace
}  // namespace sweetspot::stats
