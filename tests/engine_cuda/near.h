#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/trainer.h"

namespace sweetspot::engine::testing {

// The norm of each variable's difference, as a share of the variable's.
inline void expect_near(const std::vector<Variable>& found, const std::vector<Variable>& expected,
                        double near) {
  ASSERT_EQ(found.size(), expected.size());
  double worst = 0;
  for (std::size_t p = 0; p < expected.size(); ++p) {
    double wrong = 0, right = 0;
    for (std::size_t i = 0; i < expected[p].values.size(); ++i) {
      const double wanted = expected[p].values[i], off = found[p].values[i] - wanted;
      wrong += off * off, right += wanted * wanted;
    }
    EXPECT_GT(right, 0) << expected[p].parameter.name;
    EXPECT_LE(std::sqrt(wrong), near * std::sqrt(right)) << expected[p].parameter.name;
    worst = std::max(worst, std::sqrt(wrong / right));
  }
  ::testing::Test::RecordProperty("deviation", std::to_string(worst));
}

}  // namespace sweetspot::engine::testing
