#include "search/battery.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sweetspot::search {
namespace {

TEST(Battery, FiveHundredRandomWorkloads) {
  int good = 0, small_enough = 0, exactly_right = 0, within_bounds = 0, launches_above_cap = 0;
  std::vector<std::size_t> probes;
  for (std::uint32_t number = 0; number < 500; ++number) {
    const Question question = draw_question(number);
    const Result result = search_for(question);
    const double tolerated = 1 - question.limits.tolerance, noise = question.noise_share;
    good += result.choice && result.share_of_best >= tolerated - noise;
    // None smaller by a quarter or more is within the tolerance, beyond noise.
    small_enough += result.choice && result.smaller_share < tolerated + noise;
    exactly_right +=
        result.choice && result.share_of_best >= tolerated && result.smaller_share < tolerated;
    // The bounds are sizes of a grid; the true knee need not be one.
    constexpr double next_smaller = 0.8;
    const double knee = static_cast<double>(result.true_knee);
    within_bounds += result.choice &&
                     knee > next_smaller * static_cast<double>(result.choice->least_batch) &&
                     result.true_knee <= result.choice->sure_batch;
    launches_above_cap += question.linear_memory && result.above_cap;
    probes.push_back(result.trials.size());
  }
  std::ranges::sort(probes);
  RecordProperty("good", good);
  RecordProperty("small_enough", small_enough);
  RecordProperty("exactly_right", exactly_right);
  RecordProperty("within_bounds", within_bounds);
  RecordProperty("median_probes", static_cast<int>(probes[250]));
  EXPECT_GE(good, 485);           // 97%
  EXPECT_GE(small_enough, 485);   // likewise
  EXPECT_GE(exactly_right, 295);  // whatever the noise, of up to twice the tolerance
  EXPECT_GE(within_bounds, 455);  // of intervals of 95%, on machines as rough as these
  EXPECT_LE(probes[250], 6u);
  EXPECT_EQ(launches_above_cap, 0);
}

}  // namespace
}  // namespace sweetspot::search
