#include "stats/quantile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "stats/series.h"

namespace sweetspot::stats {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Outliers, ASlowStepIsFlagged) {
  EXPECT_THAT(outliers(std::vector<double>{1, 1.01, 0.99, 3, 1.02, 0.98}),
              ElementsAre(false, false, false, true, false, false));
}

TEST(Outliers, ManySlowStepsDoNotHideEachOther) {
  std::vector<double> values = correlated_series(1, 100, 1, 0.01, 0);
  for (std::size_t i = 0; i < 30; ++i) values[3 * i] = 10;
  EXPECT_EQ(std::ranges::count(outliers(values), true), 30);
}

TEST(Outliers, QuantisedTimesAreNone) {
  EXPECT_THAT(outliers(std::vector<double>{1, 1, 1, 1.001, 1}),
              ElementsAre(false, false, false, false, false));
}

TEST(Outliers, NothingFromNothing) { EXPECT_THAT(outliers({}), IsEmpty()); }

}  // namespace
}  // namespace sweetspot::stats
