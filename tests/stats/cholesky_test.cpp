#include "stats/cholesky.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sweetspot::stats {
namespace {

TEST(Cholesky, SolvesAndDrawsByHand) {
  const Cholesky matrix({4, 2, 2, 5}, 2);  // L = {2, 0, 1, 2}
  EXPECT_EQ(matrix.colour({1, 1}), (std::vector<double>{2, 3}));
  EXPECT_EQ(matrix.whiten_columns({2, 3}, 1), (std::vector<double>{1, 1}));
  const std::vector<double> solved = matrix.solve({6, 7});
  EXPECT_NEAR(solved[0], 1, 1e-12);
  EXPECT_NEAR(solved[1], 1, 1e-12);
  EXPECT_NEAR(matrix.half_log_determinant(), std::log(16) / 2, 1e-12);
}

// Two equal columns, a zero column, and a pivot that rounding makes slightly negative.
TEST(Cholesky, AMatrixThatIsNotPositiveGivesNumbersAllTheSame) {
  for (const std::vector<double>& entries :
       {std::vector<double>{1, 1, 1, 1}, std::vector<double>{0, 0, 0, 0},
        std::vector<double>{1, 0, 0, 0}, std::vector<double>{1, 1.0001, 1.0001, 1}}) {
    const Cholesky matrix(entries, 2);
    EXPECT_TRUE(std::isfinite(matrix.half_log_determinant()));
    for (const auto& result :
         {matrix.colour({1, -1}), matrix.whiten_columns({1, 1}, 1), matrix.solve({1, 1})})
      for (const double each : result) EXPECT_TRUE(std::isfinite(each)) << entries[3];
  }
}

TEST(Cholesky, ColumnsAreWhitenedAsEachAlone) {
  const Cholesky matrix({4, 2, 1, 2, 5, 3, 1, 3, 6}, 3);
  const std::vector<double> first{0.3, -1.7, 2.9}, second{5.1, 0.2, -0.4};
  const auto both = matrix.whiten_columns({0.3, 5.1, -1.7, 0.2, 2.9, -0.4}, 2);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(both[2 * i], matrix.whiten_columns(first, 1)[i]);
    EXPECT_EQ(both[2 * i + 1], matrix.whiten_columns(second, 1)[i]);
  }
}

TEST(Cholesky, WhatHasOneErrorInCommonIsDrawnTogether) {
  const auto drawn = Cholesky({1, 1, 1, 1, 1, 1, 1, 1, 1}, 3).colour({0.7, -2, 3});
  EXPECT_NEAR(drawn[0], 0.7, 1e-9);
  EXPECT_NEAR(drawn[1], 0.7, 1e-4);
  EXPECT_NEAR(drawn[2], 0.7, 1e-4);
}

}  // namespace
}  // namespace sweetspot::stats
