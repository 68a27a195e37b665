#include "sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "study/hooked.h"
#include "study/memory_store.h"
#include "words.h"
#include "workload/fake/fake.h"

namespace sweetspot::sweep {
namespace {

using tests::Kept;
using tests::MemoryWriter;
using workload::fake::FakeWorkload;

SweepOptions grid(std::vector<std::int64_t> batches, int repeat) {
  SweepOptions options;
  for (const std::int64_t batch : batches) {
    trial::Setting setting;
    setting.batch = batch;
    options.points.push_back(setting);
  }
  options.repeat = repeat;
  return options;
}

study::Result run(Kept& kept, const SweepOptions& options, int stop_value = 0) {
  workload::fake::Options fake;
  fake.samples = 1000;
  FakeWorkload workload(fake);
  MemoryWriter writer(kept);
  study::Observer quiet;
  const std::atomic<int> stop{stop_value};
  return sweep(workload, writer, options, quiet, stop);
}

std::vector<std::int64_t> batches(const std::vector<trial::Trial>& trials) {
  std::vector<std::int64_t> list;
  for (const trial::Trial& trial : trials) list.push_back(trial.setting.batch);
  return list;
}

TEST(RoundOrder, IsAPermutationThatTheSeedAndRoundDecide) {
  const auto first = round_order(20, 0, 1000);
  auto sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
  EXPECT_EQ(first, round_order(20, 0, 1000));
  EXPECT_NE(first, round_order(20, 1, 1000));
  EXPECT_NE(first, round_order(20, 0, 1001));
  EXPECT_NE(first, sorted);
}

TEST(RoundOrder, EveryPlaceIsAsLikely) {
  std::map<std::size_t, int> first_places;
  for (int round = 0; round < 3000; ++round) ++first_places[round_order(3, round, 1)[0]];
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(first_places[i], 1000, 120);
}

TEST(Sweep, RunsEveryPointOnceInEachRound) {
  Kept kept;
  const study::Result result = run(kept, grid({1, 2, 4, 8, 16}, 3));
  ASSERT_EQ(result.trials.size(), 15u);
  for (int round = 0; round < 3; ++round) {
    auto part = batches({result.trials.begin() + 5 * round, result.trials.begin() + 5 * round + 5});
    EXPECT_THAT(part, testing::UnorderedElementsAre(1, 2, 4, 8, 16));
  }
  EXPECT_EQ(result.answer.end, trial::End::finished);
  EXPECT_EQ(kept.study.end, trial::End::finished);
}

TEST(Sweep, ResumesInTheSameOrder) {
  Kept whole;
  const auto truth = batches(run(whole, grid({1, 2, 4, 8}, 2)).trials);
  for (std::size_t cut = 0; cut <= truth.size(); ++cut) {
    Kept kept;
    kept.study.trials.assign(whole.study.trials.begin(),
                             whole.study.trials.begin() + static_cast<std::ptrdiff_t>(cut));
    const study::Result result = run(kept, grid({1, 2, 4, 8}, 2));
    EXPECT_EQ(batches(result.trials), truth) << cut;
    EXPECT_EQ(result.resumed, cut);
  }
}

TEST(Sweep, WhatCannotRunIsRefusedWithTheReason) {
  Kept kept;
  SweepOptions options = grid({10, 2000}, 1);
  options.points.push_back(options.points[0]);
  options.points.back().accumulation = 4;
  const study::Result result = run(kept, options);
  ASSERT_EQ(result.trials.size(), 3u);
  for (const trial::Trial& trial : result.trials) {
    const bool good = trial.setting.batch == 10 && trial.setting.accumulation == 1;
    EXPECT_EQ(trial.outcome, good ? trial::Outcome::ok : trial::Outcome::refused);
    if (trial.setting.batch == 2000) {
      EXPECT_WORDS(trial.note);
    }
    if (trial.setting.accumulation == 4) {
      EXPECT_WORDS(trial.note);
    }
  }
}

study::Result train(Kept& kept, const SweepOptions& options, int epochs) {
  workload::fake::Options fake;
  fake.samples = 1000;
  fake.out_of_memory_above = 500;
  workload::fake::FakeTraining training(fake);
  MemoryWriter writer(kept);
  study::Observer quiet;
  const std::atomic<int> stop{0};
  return sweep(training, epochs, writer, options, quiet, stop);
}

TEST(EpochSweep, TrainsEveryPointWithEverySeedInRounds) {
  Kept kept;
  SweepOptions options = grid({100, 200, 400}, 1);
  options.seeds = {7, 8};
  const study::Result result = train(kept, options, 3);
  ASSERT_EQ(result.trials.size(), 6u);
  for (std::size_t i = 0; i < result.trials.size(); ++i) {
    EXPECT_EQ(result.trials[i].setting.seed, i < 3 ? 7u : 8u);
    EXPECT_EQ(result.trials[i].epochs.size(), 3u);
  }
}

TEST(EpochSweep, ResumesAndTrainsOnlyTheSeedsThatAreNew) {
  Kept kept;
  SweepOptions options = grid({100, 200}, 1);
  options.seeds = {7, 8};
  train(kept, options, 2);
  options.seeds = {7, 8, 9};
  const study::Result result = train(kept, options, 2);
  EXPECT_EQ(result.resumed, 4u);
  ASSERT_EQ(result.trials.size(), 6u);
  EXPECT_EQ(result.trials[4].setting.seed, 9u);
  EXPECT_EQ(result.trials[5].setting.seed, 9u);
}

TEST(EpochSweep, FailuresAreOutcomes) {
  Kept kept;
  const study::Result result = train(kept, grid({100, 600, 2000}, 1), 1);
  EXPECT_EQ(result.answer.end, trial::End::finished);
  for (const trial::Trial& trial : result.trials)
    EXPECT_EQ(trial.outcome, trial.setting.batch == 100   ? trial::Outcome::ok
                             : trial.setting.batch == 600 ? trial::Outcome::out_of_memory
                                                          : trial::Outcome::refused);
}

// A workload that cannot predict its memory, such as a program: its smaller batches predict it.
TEST(Sweep, RefusesWhatEarlierTrialsLetExpectNotToFit) {
  std::vector<std::int64_t> shuffled(4);
  const std::vector<std::size_t> order = round_order(4, 0, SweepOptions().seed);
  for (std::size_t i = 0; i < 4; ++i) shuffled[order[i]] = std::vector{8, 16, 64, 512}[i];
  SweepOptions options = grid(shuffled, 1);
  options.limits.memory.limit = 200 * core::MiB;
  workload::fake::Options fake;
  fake.predicts_memory = fake.side_by_side = false;
  fake.memory_fixed = 10 * core::MiB, fake.memory_per_sample = core::MiB;
  FakeWorkload workload(fake);
  Kept kept;
  MemoryWriter writer(kept);
  study::Observer quiet;
  const std::atomic<int> stop{0};
  const study::Result result = sweep(workload, writer, options, quiet, stop);
  ASSERT_EQ(batches(result.trials), (std::vector<std::int64_t>{8, 16, 64, 512}));
  EXPECT_FALSE(result.trials[1].memory_predicted);  // one size says nothing about another
  EXPECT_NEAR(static_cast<double>(*result.trials[2].memory_predicted), 74.0 * core::MiB, 1024);
  EXPECT_EQ(result.trials[2].memory_measured, 74 * core::MiB);
  EXPECT_EQ(result.trials[3].outcome, trial::Outcome::refused);
  EXPECT_EQ(result.trials[3].note, "522 MiB predicted, 200 MiB allowed");
}

TEST(Sweep, PointsThatOpenSideBySideTakeTurns) {
  Kept kept;
  const study::Result result = run(kept, grid({4, 64, 1000}, 1));
  ASSERT_EQ(result.trials.size(), 3u);
  std::set<std::int32_t> rounds;
  for (const trial::Step& step : result.trials[0].raw) rounds.insert(step.round);
  EXPECT_GE(rounds.size(), 8u);
  for (const trial::Trial& trial : result.trials) {
    EXPECT_EQ(trial.stop_reason, trial::StopReason::precise);
    EXPECT_LE(trial.samples_per_second->half_width_share(), 0.02);
    std::set<std::int32_t> its_rounds;
    for (const trial::Step& step : trial.raw) its_rounds.insert(step.round);
    EXPECT_EQ(its_rounds, rounds);
  }
}

// In the middle of the only rounds.
TEST(Sweep, ASecondPressKeepsWhatWasDoneAndSaysThatItWasStopped) {
  Kept kept;
  std::atomic<int> stop{0};
  tests::HookedWorkload workload({}, [&](std::int64_t step) {
    if (step == 100) stop = 2;
  });
  MemoryWriter writer(kept);
  study::Observer quiet;
  const study::Result result = sweep(workload, writer, grid({4, 64, 128}, 1), quiet, stop);
  EXPECT_EQ(workload.steps(), 101);
  EXPECT_EQ(result.answer.end, trial::End::stopped);
  EXPECT_EQ(kept.study.end, trial::End::stopped);
  EXPECT_FALSE(kept.study.trials.empty());
  for (const trial::Trial& trial : kept.study.trials) EXPECT_EQ(trial.outcome, trial::Outcome::ok);
}

TEST(Sweep, StopsWhenTold) {
  Kept kept;
  const study::Result result = run(kept, grid({1, 2}, 1), 1);
  EXPECT_EQ(result.answer.end, trial::End::stopped);
  EXPECT_TRUE(result.trials.empty());
  EXPECT_EQ(kept.study.end, trial::End::stopped);
}

}  // namespace
}  // namespace sweetspot::sweep
