#include "search/battery.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sweetspot::search {
namespace {

TEST(Battery, FiveHundredRandomWorkloads) {
  int good = 0, launches_above_cap = 0;
  std::vector<std::size_t> probes;
  for (std::uint32_t number = 0; number < 500; ++number) {
    const Question question = draw_question(number);
    const Result result = search_for(question);
    const double allowed = question.limits.tolerance + question.noise_share;
    good += result.choice && result.share_of_best >= 1 - allowed;
    launches_above_cap += question.linear_memory && result.above_cap;
    probes.push_back(result.trials.size());
  }
  std::ranges::sort(probes);
  RecordProperty("good", good);
  RecordProperty("median_probes", static_cast<int>(probes[250]));
  EXPECT_GE(good, 485);  // 97%
  EXPECT_LE(probes[250], 6u);
  EXPECT_EQ(launches_above_cap, 0);
}

}  // namespace
}  // namespace sweetspot::search
