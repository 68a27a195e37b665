#include "study/battery.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sweetspot::study {
namespace {

// 500 random workloads, in parts that run in parallel.
constexpr std::uint32_t parts = 4, part_size = 125;

struct Battery : testing::TestWithParam<std::uint32_t> {};

TEST_P(Battery, RandomWorkloads) {
  int good = 0, small_enough = 0, within_bounds = 0, launches_above_cap = 0;
  std::vector<double> regrets;
  std::vector<std::size_t> batches;
  for (std::uint32_t i = 0; i < part_size; ++i) {
    const StudyKey study_key = draw_question(GetParam() * part_size + i);
    const Verdict verdict = tune_for(study_key);
    launches_above_cap += study_key.linear_memory && verdict.above_cap;
    if (!verdict.recommendation) continue;
    const advise::Recommendation& made = *verdict.recommendation;
    regrets.push_back(1 - verdict.share_of_best);
    batches.push_back(verdict.batches);
    good += verdict.share_of_best >= 0.94;
    small_enough += verdict.smaller_share < 0.96;
    within_bounds += verdict.true_knee >= made.knee_low && verdict.true_knee <= made.knee_high;
  }
  ASSERT_FALSE(regrets.empty());
  std::ranges::sort(regrets);
  std::ranges::sort(batches);
  RecordProperty("answered", static_cast<int>(regrets.size()));
  RecordProperty("good", good);
  RecordProperty("small_enough", small_enough);
  RecordProperty("within_bounds", within_bounds);
  RecordProperty("regret_95", std::to_string(regrets[regrets.size() * 95 / 100]));
  RecordProperty("median_batches", static_cast<int>(batches[batches.size() / 2]));
  const auto share = [&](int count) { return count / static_cast<double>(regrets.size()); };
  // A curve that rises again beyond steps of a tenth of a second is not found, and memory in steps
  // is guessed; programs with guessed memory are not run larger than needed; even so, most machines
  // with most kinds of noise get a good answer.
  EXPECT_GE(share(good), 0.88);
  EXPECT_GE(share(small_enough), 0.85);
  EXPECT_GE(share(within_bounds), 0.78);
  EXPECT_EQ(launches_above_cap, 0);
}

INSTANTIATE_TEST_SUITE_P(Parts, Battery, testing::Range(0u, parts));

}  // namespace
}  // namespace sweetspot::study
