#include "stats/interval.h"

#include <gtest/gtest.h>

#include <vector>

namespace sweetspot::stats {
namespace {

TEST(IndependentMean, IsStudentsInterval) {
  const auto interval = independent_mean(std::vector<double>{9, 10, 11});
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->mean, 10);
  EXPECT_NEAR(interval->high, 10 + 4.302653 / std::sqrt(3), 1e-5);
  EXPECT_NEAR(interval->low, 10 - 4.302653 / std::sqrt(3), 1e-5);
}

TEST(IndependentMean, OfOneValueHasNoInterval) {
  EXPECT_FALSE(independent_mean(std::vector<double>{3}));
  EXPECT_FALSE(independent_mean(std::vector<double>{}));
}

}  // namespace
}  // namespace sweetspot::stats
