#include "stats/settled.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/series.h"

namespace sweetspot::stats {
namespace {

TEST(Trend, KnownValues) {
  // Six values in order: S = 15, deviation √(6·5·17/18).
  EXPECT_NEAR(trend(std::vector<double>{1, 2, 3, 4, 5, 6}), 14 / std::sqrt(510 / 18.0), 1e-12);
  EXPECT_NEAR(trend(std::vector<double>{6, 5, 4, 3, 2, 1}), -14 / std::sqrt(510 / 18.0), 1e-12);
  EXPECT_EQ(trend(std::vector<double>{1, 1, 1}), 0);
  EXPECT_EQ(trend({}), 0);
}

TEST(Settled, NotBeforeSixSteps) {
  EXPECT_FALSE(settled(std::vector<double>{1, 1, 1, 1, 1}));
  EXPECT_TRUE(settled(std::vector<double>{1, 1, 1, 1, 1, 1}));
}

TEST(Settled, OneSlowStartIsOver) {
  EXPECT_TRUE(settled(std::vector<double>{50, 1.01, 1, 1.02, 0.99, 1.01}));
}

TEST(Settled, NotWhileStepsGetFaster) {
  std::vector<double> values;
  for (int i = 0; i < 40; ++i) {
    values.push_back(1 + 4 * std::exp(-i / 10.0));
    if (i >= 30) continue;
    EXPECT_FALSE(settled(values)) << i;
  }
  while (values.size() < 200) values.push_back(1);
  EXPECT_TRUE(settled(values));
}

TEST(Settled, ATrendTooSmallToMatterIsNone) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(1 - 1e-5 * i);
  EXPECT_TRUE(settled(values));
}

TEST(Settled, NoiseAloneSettlesSoon) {
  int settled_runs = 0;
  for (std::uint32_t run = 0; run < 200; ++run)
    settled_runs += settled(correlated_series(run, 20, 1, 0.1, 0));
  EXPECT_GE(settled_runs, 170);  // each test is wrong in a tenth of the cases
}

}  // namespace
}  // namespace sweetspot::stats
