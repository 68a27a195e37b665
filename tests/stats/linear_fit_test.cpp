#include "stats/linear_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace sweetspot::stats {
namespace {

TEST(LinearFit, ExactLine) {
  const auto fit = fit_line(std::vector<LinePoint>{{1, 5}, {2, 7}, {10, 23}});
  ASSERT_TRUE(fit);
  EXPECT_DOUBLE_EQ(fit->intercept, 3);
  EXPECT_DOUBLE_EQ(fit->slope, 2);
  EXPECT_NEAR(fit->intercept_interval->high, 3, 1e-9);
}

TEST(LinearFit, IntervalByHand) {
  // The textbook's s²(1/n + x̄²/Sxx), with n = 4, x̄ = 2.5, Sxx = 5.
  const auto fit = fit_line(std::vector<LinePoint>{{1, 2}, {2, 1}, {3, 4}, {4, 3}});
  ASSERT_TRUE(fit);
  EXPECT_DOUBLE_EQ(fit->slope, 0.6);
  EXPECT_DOUBLE_EQ(fit->intercept, 1);
  // Residuals 0.4, −1.2, 1.2, −0.4: s² = 3.2/2; the factor is 1/4 + 6.25/5.
  EXPECT_NEAR(fit->intercept_interval->high - 1, 4.30265 * std::sqrt(1.6 * 1.5), 1e-4);
}

TEST(LinearFit, WeightsDecide) {
  const auto fit = fit_line(std::vector<LinePoint>{{0, 0, 1e9}, {1, 1, 1e9}, {1, 9, 1e-3}});
  EXPECT_NEAR(fit->slope, 1, 1e-6);
}

TEST(LinearFit, TwoPointsHaveNoInterval) {
  const auto fit = fit_line(std::vector<LinePoint>{{1, 1}, {2, 2}});
  ASSERT_TRUE(fit);
  EXPECT_FALSE(fit->intercept_interval);
}

TEST(LinearFit, OneX) {
  EXPECT_FALSE(fit_line(std::vector<LinePoint>{{4, 1}, {4, 2}}));
  EXPECT_FALSE(fit_line({}));
}

}  // namespace
}  // namespace sweetspot::stats
