#include <gtest/gtest.h>

#include <limits>

#include "core/interval.h"

namespace sweetspot::core {
namespace {

TEST(FormatReach, IsOneNumberWhereBothSidesAreAlike) {
  EXPECT_EQ(format_interval(0.12, 0.12, 2), "±0.12");
  EXPECT_EQ(format_interval(0.12, 0.13, 2), "±0.13");  // one in the last digit is rounding
  EXPECT_EQ(format_interval_percent(100, 97.4, 102.6), "±2.6%");
  EXPECT_EQ(format_interval_percent(100, 86, 114.6), "±15%");
}

TEST(FormatReach, IsTwoNumbersWhereTheyDiffer) {
  EXPECT_EQ(format_interval(1.81, 2.4, 2), "+1.81/−2.40");
  EXPECT_EQ(format_interval_percent(100, 97, 112), "+12/−3.0%");
  EXPECT_EQ(format_interval_percent(15123, 13896, 50765), "+236/−8.1%");
  EXPECT_EQ(format_interval_percent(100, 91.5, 109.3), "+9.3/−8.5%");
}

TEST(FormatReach, DoesNotInventWhatIsUnknown) {
  const double endless = std::numeric_limits<double>::infinity();
  EXPECT_EQ(format_interval(endless, 1, 1), "±–");
  EXPECT_EQ(format_interval_percent(100, 0, endless), "±–");
  EXPECT_EQ(format_interval_percent(0, 0, 0), "±–");
}

}  // namespace
}  // namespace sweetspot::core
