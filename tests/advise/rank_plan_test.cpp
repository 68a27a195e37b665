#include "advise/rank_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "words.h"

namespace sweetspot::advise {
namespace {

// 2 ms + 10 µs a sample.
RankPlanFacts one_rank() {
  RankPlanFacts facts;
  for (std::int64_t batch = 1; batch <= 4096; batch *= 2)
    facts.speeds.push_back({batch, 2e-3 + 1e-5 * static_cast<double>(batch)});
  facts.backward_share = 0.5;
  facts.gradient_bytes = 100 << 20, facts.bucket_bytes = 10 << 20;
  facts.link = {2e-6, 50e9};
  return facts;
}

TEST(RankPlan, OneRankIsAsMeasured) {
  const RankPlan plan = plan_ranks(one_rank(), std::vector<std::int64_t>{1});
  ASSERT_EQ(plan.rows.size(), 1u);
  EXPECT_EQ(plan.rows[0].global_batch, plan.rows[0].micro_batch);
  EXPECT_DOUBLE_EQ(plan.rows[0].exposed_seconds, 0);
  EXPECT_DOUBLE_EQ(plan.rows[0].efficiency, 1);
  EXPECT_FALSE(plan.rows[0].sooner);
}

TEST(RankPlan, APerfectLinkScalesWithoutLoss) {
  RankPlanFacts perfect = one_rank();
  perfect.link = {0, 1e30};
  const RankPlan plan = plan_ranks(perfect, std::vector<std::int64_t>{1, 8, 1024});
  for (const RankPlanRow& row : plan.rows) {
    EXPECT_NEAR(row.efficiency, 1, 1e-9);
    EXPECT_EQ(row.global_batch, row.ranks * row.micro_batch);
    EXPECT_NEAR(row.samples_per_second,
                static_cast<double>(row.ranks) * plan.rows[0].samples_per_second, 1e-3);
  }
}

TEST(RankPlan, AWorseLinkAsksForLargerBatches) {
  RankPlanFacts fast = one_rank(), slow = one_rank();
  fast.link = {1e-6, 1e12}, slow.link = {50e-6, 50e9};
  const std::vector<std::int64_t> ranks{64};
  const RankPlanRow fast_row = plan_ranks(fast, ranks).rows[0];
  const RankPlanRow slow_row = plan_ranks(slow, ranks).rows[0];
  EXPECT_GT(slow_row.micro_batch, fast_row.micro_batch);
  EXPECT_LT(slow_row.efficiency, fast_row.efficiency);
  EXPECT_GT(slow_row.exposed_seconds, fast_row.exposed_seconds);
}

TEST(RankPlan, RanksOfOneMachineTakeTurnsAndHideNoSums) {
  RankPlanFacts facts = one_rank();
  facts.speeds = {{128, 10e-3}};
  facts.rank_seconds = 1e-3;
  facts.gradient_bytes = 10 << 20;
  facts.link = {0, 10.0 * (1 << 20) / 2e-3};  // all gradients over 2 ranks: 2 ms
  facts.machine = {2, 1, {}, {}};
  const RankPlan plan = plan_ranks(facts, std::vector<std::int64_t>{1, 2, 4});
  ASSERT_EQ(plan.rows.size(), 3u);
  EXPECT_DOUBLE_EQ(plan.rows[0].step_seconds, 10e-3);
  EXPECT_NEAR(plan.rows[1].step_seconds, 13e-3, 1e-9);
  // Two turns of 11 ms, and of sums, which move 1.5 times the bytes.
  EXPECT_NEAR(plan.rows[2].step_seconds, 2 * (11e-3 + 3e-3), 1e-9);
  facts.machine->sum_seconds = {{4, 5e-3}};  // as measured
  EXPECT_NEAR(plan_ranks(facts, std::vector<std::int64_t>{4}).rows[0].step_seconds, 27e-3, 1e-9);
  EXPECT_WORDS(assumptions(facts).front());
}

TEST(RankPlan, StepsThatRanksMadeHereTellOfOtherBatches) {
  RankPlanFacts facts = one_rank();
  facts.rank_seconds = 1e-3;  // is in the steps
  facts.machine = {2, 1, {{2, {128, 1.1, 2e-3}}, {4, {128, 2.2, 5e-3}}}, {}};
  for (const double alone : {3e-3, 30e-3}) {
    facts.speeds = {{128, alone}};
    const RankPlan plan = plan_ranks(facts, std::vector<std::int64_t>{1, 2, 4});
    ASSERT_EQ(plan.rows.size(), 3u);
    EXPECT_DOUBLE_EQ(plan.rows[0].step_seconds, alone);
    EXPECT_NEAR(plan.rows[1].step_seconds, 1.1 * alone + 2e-3, 1e-9);
    EXPECT_NEAR(plan.rows[2].step_seconds, 2.2 * alone + 5e-3, 1e-9);
    EXPECT_NEAR(plan.rows[2].exposed_seconds, 5e-3, 1e-9);
  }
  // More than were measured take turns.
  EXPECT_GT(plan_ranks(facts, std::vector<std::int64_t>{8}).rows[0].step_seconds, 4 * 31e-3);
}

TEST(RankPlan, TheNoiseScaleEndsWhatMoreRanksBring) {
  RankPlanFacts noisy = one_rank();
  noisy.noise_scale = 1000;
  const RankPlan plan = plan_ranks(noisy, std::vector<std::int64_t>{1, 16, 256, 4096});
  ASSERT_EQ(plan.rows.size(), 4u);
  double before = 0;
  for (const RankPlanRow& row : plan.rows) {
    ASSERT_TRUE(row.sooner);
    EXPECT_GE(*row.sooner, before);
    before = *row.sooner;
  }
  EXPECT_DOUBLE_EQ(*plan.rows[0].sooner, 1);
  // Beyond the noise scale a larger batch saves no updates: each rank has ever less to do.
  EXPECT_LT(plan.rows[3].micro_batch, plan.rows[1].micro_batch);
  EXPECT_LT(*plan.rows[3].sooner, 64);
}

TEST(RankPlan, NoBatchIsLargerThanTheDataSet) {
  RankPlanFacts small = one_rank();
  small.samples = 1000;
  const RankPlan plan = plan_ranks(small, std::vector<std::int64_t>{1, 100, 1000, 1001});
  ASSERT_EQ(plan.rows.size(), 3u);
  for (const RankPlanRow& row : plan.rows) EXPECT_LE(row.global_batch, 1000);
}

TEST(RankPlan, SaysWhatItAssumes) {
  std::string all;
  for (const std::string& sentence : assumptions(one_rank())) all += sentence + "\n";
  EXPECT_WORDS(all);
}

}  // namespace
}  // namespace sweetspot::advise
