#include <gtest/gtest.h>

#include "workload/command/step_counter.h"

namespace sweetspot::workload::command {
namespace {

trial::Setting setting(std::int64_t batch, std::int64_t accumulation = 1) {
  trial::Setting setting;
  setting.batch = batch;
  setting.accumulation = accumulation;
  return setting;
}

TEST(Counted, WhatIsReadInOneGoIsOneStep) {
  Counted counted(setting(64));
  const auto step = counted.add({{.seconds = 1, .updates = 2}, {.seconds = 0.5, .updates = 3}},
                                {.source = "tqdm bar"});
  ASSERT_TRUE(step);
  EXPECT_EQ(step->seconds, 1.5);
  EXPECT_EQ(step->updates, 5);
  EXPECT_EQ(step->samples, 320);
  EXPECT_FALSE(counted.add({}, {.source = "tqdm bar"}));
}

TEST(Counted, SamplesOfOneRankStandForAll) {
  Counted counted(setting(64), 4);
  const auto step = counted.add({{.seconds = 1, .samples = 32}}, {.counts_samples = true});
  EXPECT_EQ(step->updates, 2);
  EXPECT_EQ(step->samples, 128);
}

TEST(Counted, SamplesProveTheBatch) {
  Counted counted(setting(64));
  const auto whole = counted.add({{.seconds = 1, .samples = 640}}, {.counts_samples = true});
  EXPECT_EQ(whole->updates, 10);
  EXPECT_EQ(whole->samples, 640);
  const auto other = counted.add({{.seconds = 1, .samples = 500}}, {.counts_samples = true});
  EXPECT_EQ(other->updates, 8);
  EXPECT_EQ(other->samples, 500);  // fewer than 8 × 64: measuring refuses it if this continues
}

TEST(Counted, MicroBatchesAreGatheredIntoUpdatesWithTheirShareOfTheTime) {
  Counted counted(setting(64, 4));
  EXPECT_FALSE(counted.add({{.seconds = 3, .updates = 3}}, {.source = "tqdm bar"}));
  const auto first = counted.add({{.seconds = 3, .updates = 3}}, {.source = "tqdm bar"});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->updates, 1);
  EXPECT_EQ(first->samples, 64);
  EXPECT_DOUBLE_EQ(first->seconds, 4);
  const auto next = counted.add({{.seconds = 6, .updates = 6}}, {.source = "tqdm bar"});
  EXPECT_EQ(next->updates, 2);
  EXPECT_DOUBLE_EQ(next->seconds, 8);
}

TEST(Counted, ACounterOfWeightUpdatesIsTakenAtItsWord) {
  Counted counted(setting(64, 4));
  const auto step = counted.add({{.seconds = 1, .updates = 3}}, {.counts_weight_updates = true});
  ASSERT_TRUE(step);
  EXPECT_EQ(step->updates, 3);
  EXPECT_EQ(step->samples, 192);
}

TEST(Counted, ACountOfSamplesRisesByThoseOfItsSteps) {
  Counted counted(setting(64));
  EXPECT_EQ(counted.sample_stride(), std::nullopt);
  for (const std::int64_t samples :
       {320, 128, 448, 64, 192, 32, 640, 128, 256, 320})  // 32: the rest
    counted.add({{.seconds = 1, .samples = samples}}, {});
  EXPECT_EQ(counted.sample_stride(), 64);
}

TEST(Counted, SamplesAsTheyComeHaveNoStride) {
  Counted counted(setting(64));
  for (const std::int64_t samples : {317, 129, 448, 61, 190, 37})
    counted.add({{.seconds = 1, .samples = samples}}, {});
  EXPECT_EQ(counted.sample_stride(), std::nullopt);
}

}  // namespace
}  // namespace sweetspot::workload::command
