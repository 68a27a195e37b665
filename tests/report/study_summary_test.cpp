#include "report/study_summary.h"

#include <gtest/gtest.h>

namespace sweetspot::report {
namespace {

StudySummary of_largest_batch(const std::string& largest) {
  trial::StudyKey key;
  key.json = R"({"terms":{"kind":"tune","limits":{"max":)" + largest +
             R"(}},"workload":{"data":{"samples":60000}}})";
  return study_summary(key);
}

TEST(StudySummary, NamesALimitOnlyIfThereIsOne) {
  EXPECT_NE(of_largest_batch("512").limit, "");
  EXPECT_EQ(of_largest_batch("60000").limit, "") << "the whole data set";
  EXPECT_EQ(of_largest_batch("1099511627776").limit, "") << "a program's";
  EXPECT_EQ(of_largest_batch("1099511627775").limit, "") << "the same in multiples of 3";
}

}  // namespace
}  // namespace sweetspot::report
