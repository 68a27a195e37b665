#include "study/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/memory_store.h"
#include "workload/fake/fake.h"

namespace sweetspot::study {
namespace {

using testing::Contains;
using testing::HasSubstr;
using tests::Kept;
using tests::MemoryWriter;
using workload::fake::FakeWorkload;

workload::fake::Options fake() {
  workload::fake::Options options;
  options.noise_share = 0.01;
  options.memory_fixed = 1 << 20, options.memory_per_sample = 1 << 10;
  options.samples = 60000;
  return options;
}

TuneOptions asked() {
  TuneOptions options;
  options.limits.max = 60000;
  options.limits.memory_limit = core::GiB;
  return options;
}

// Presses Ctrl-C while a given trial runs.
struct Presser : Observer {
  std::atomic<int>& stop;
  std::size_t at, seen = 0;
  int presses = 1;
  Presser(std::atomic<int>& s, std::size_t trial, int p) : stop(s), at(trial), presses(p) {}
  void started(const trial::Setting&) override {
    if (++seen == at) stop = presses;
  }
};

struct Study {
  Kept kept;
  std::atomic<int> stop{0};
  Observer quiet;

  TuneResult run(const TuneOptions& options, const workload::fake::Options& made = fake()) {
    return run(options, made, quiet);
  }
  TuneResult run(const TuneOptions& options, const workload::fake::Options& made,
                 Observer& observer) {
    FakeWorkload workload(made);
    MemoryWriter writer(kept);
    return tune(workload, writer, options, observer, stop);
  }
};

TEST(Tune, FindsTheKneeAndKeepsEveryTrial) {
  Study study;
  const TuneResult result = study.run(asked());
  EXPECT_EQ(result.status, Status::found);
  ASSERT_TRUE(result.recommendation);
  // 2 ms and 10 µs a sample: 95% of 100,000 samples/s from batch 3,800 on.
  const double truth =
      workload::fake::samples_per_second(fake(), result.recommendation->setting.batch);
  EXPECT_GT(truth, 0.92 * 100'000);
  EXPECT_EQ(study.kept.study.trials.size(), result.trials.size());
  EXPECT_EQ(study.kept.study.state, trial::StudyState::finished);
}

TEST(Tune, AFinishedStudyIsAnsweredWithoutATrial) {
  Study study;
  const TuneResult first = study.run(asked()), second = study.run(asked());
  EXPECT_EQ(second.resumed, first.trials.size());
  EXPECT_EQ(second.trials.size(), first.trials.size());
  EXPECT_EQ(second.recommendation->setting, first.recommendation->setting);
  EXPECT_EQ(second.recommendation->reasons, first.recommendation->reasons);
}

// Virtual time: whatever else this machine does, the same study is the same.
TEST(Tune, WhatTheMachineDoesIsNothingToAFake) {
  Study study;
  for (const trial::Trial& trial : study.run(asked()).trials) {
    EXPECT_FALSE(trial.contention.contended);
    EXPECT_FALSE(trial.contention.cpu_pressure_share);
  }
}

TEST(Tune, AStudyCutAnywhereEndsWithTheSameAnswer) {
  Study whole;
  const TuneResult truth = whole.run(asked());
  for (std::size_t cut = 0; cut < truth.trials.size(); ++cut) {
    Study study;
    study.kept.study.trials.assign(truth.trials.begin(),
                                   truth.trials.begin() + static_cast<std::ptrdiff_t>(cut));
    const TuneResult resumed = study.run(asked());
    EXPECT_EQ(resumed.recommendation->setting, truth.recommendation->setting) << cut;
    EXPECT_EQ(resumed.trials.size(), truth.trials.size());
  }
}

TEST(Tune, TheFirstPressFinishesTheTrialAndAnswers) {
  Study study;
  Presser press(study.stop, 2, 1);
  const TuneResult result = study.run(asked(), fake(), press);
  EXPECT_EQ(result.status, Status::stopped);
  EXPECT_EQ(result.trials.size(), 2u);
  EXPECT_EQ(study.kept.study.trials.size(), 2u);
  EXPECT_EQ(study.kept.study.state, trial::StudyState::stopped);
  ASSERT_TRUE(result.recommendation);
  EXPECT_THAT(result.recommendation->reasons, Contains(HasSubstr("stopped before its end")));
}

TEST(Tune, TheSecondPressDropsTheTrial) {
  Study study;
  Presser press(study.stop, 2, 2);
  const TuneResult result = study.run(asked(), fake(), press);
  EXPECT_EQ(result.status, Status::stopped);
  EXPECT_EQ(study.kept.study.trials.size(), 1u);
}

TEST(Tune, TheBudgetEndsItWithTheBestKnown) {
  Study study;
  TuneOptions options = asked();
  int asks = 0;
  options.loop.budget = core::Seconds(10);
  options.loop.now = [&] { return core::Seconds(++asks < 6 ? 0 : 11); };
  const TuneResult result = study.run(options);
  EXPECT_EQ(result.status, Status::budget);
  EXPECT_FALSE(result.trials.empty());
  ASSERT_TRUE(result.recommendation);
  EXPECT_THAT(result.recommendation->reasons, Contains(HasSubstr("the budget of 10.0 s ended")));
  EXPECT_EQ(study.kept.study.state, trial::StudyState::stopped);
}

TEST(Tune, ABudgetThatEndsAtOnceSaysSo) {
  Study study;
  TuneOptions options = asked();
  options.loop.budget = core::Seconds(0);
  const TuneResult result = study.run(options);
  EXPECT_EQ(result.status, Status::budget);
  EXPECT_FALSE(result.recommendation);
  EXPECT_THAT(result.message, HasSubstr("nothing is known yet"));
}

TEST(Tune, AStoreThatFailsEndsItWithItsSentence) {
  Study study;
  study.kept.room = 2;
  const TuneResult result = study.run(asked());
  EXPECT_EQ(result.status, Status::store_failed);
  EXPECT_EQ(result.message, "the disk is full");
  EXPECT_EQ(study.kept.study.trials.size(), 2u);
  EXPECT_TRUE(result.recommendation);  // from what was measured
}

// A fake whose device is gone when a given session opens.
struct LosesItsDevice : FakeWorkload {
  int left;
  LosesItsDevice(const workload::fake::Options& options, int sessions)
      : FakeWorkload(options), left(sessions) {}
  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override {
    if (left-- == 0) throw core::DeviceLost("the GPU was lost; look at nvidia-smi");
    return FakeWorkload::open(setting);
  }
  std::string device() const override { return "cuda:0"; }
};

TEST(Tune, ALostDeviceEndsItWithWhatIsKnown) {
  Study study;
  LosesItsDevice workload(fake(), 3);
  MemoryWriter writer(study.kept);
  const TuneResult result = tune(workload, writer, asked(), study.quiet, study.stop);
  EXPECT_EQ(result.status, Status::device_lost);
  EXPECT_EQ(result.message, "the GPU was lost; look at nvidia-smi");
  EXPECT_EQ(study.kept.study.trials.size(), 3u) << "finished trials are kept, the lost one is not";
  EXPECT_EQ(study.kept.study.trials[0].device, "cuda:0");
  EXPECT_EQ(study.kept.study.state, trial::StudyState::stopped);
  EXPECT_TRUE(result.recommendation);
}

TEST(Tune, NothingFitsIsToldWithoutARun) {
  Study study;
  TuneOptions options = asked();
  options.limits.memory_limit = 1000;
  const TuneResult result = study.run(options);
  EXPECT_EQ(result.status, Status::nothing_feasible);
  EXPECT_TRUE(result.trials.empty());
  EXPECT_THAT(result.message, HasSubstr("batch 1 takes 1.0 MiB and 1000 B are allowed"));
}

TEST(Tune, NeverLaunchesWhatIsPredictedNotToFit) {
  Study study;
  TuneOptions options = asked();
  options.limits.memory_limit = core::MiB + 500 * core::KiB;
  for (const trial::Trial& trial : study.run(options).trials) EXPECT_LE(trial.setting.batch, 500);
}

TEST(Tune, MaxBatchIsTheLargestThatFits) {
  Study study;
  TuneOptions options = asked();
  options.limits.objective = search::Objective::max_batch;
  options.limits.memory_limit = core::MiB + 500 * core::KiB;
  const TuneResult result = study.run(options);
  ASSERT_TRUE(result.recommendation);
  EXPECT_EQ(result.recommendation->setting.batch, 500);
}

TEST(Tune, ChecksTheLoaderAdviceOnceAndResumesThat) {
  workload::fake::Options waiting = fake();
  waiting.data_wait_share = 0.5;
  Study study;
  const TuneResult result = study.run(asked(), waiting);
  ASSERT_TRUE(result.facts.loader_check);
  EXPECT_GT(result.facts.loader_check->workers, 1);
  const auto is_check = [&](const trial::Trial& trial) { return trial.setting.workers > 1; };
  EXPECT_EQ(std::count_if(result.trials.begin(), result.trials.end(), is_check), 1);
  // The fake waits as long whatever its workers: the advice does not help and is not given.
  EXPECT_EQ(result.recommendation->setting.workers, 1);
  const TuneResult again = study.run(asked(), waiting);
  EXPECT_EQ(again.trials.size(), result.trials.size());
  EXPECT_TRUE(again.facts.loader_check);
}

// A program without {workers} waits for data, and no flag of ours could change that.
TEST(Tune, WorkersAreNotAdvisedToWhatHasNone) {
  struct Loaderless : FakeWorkload {
    using FakeWorkload::FakeWorkload;
    bool has_loader() const override { return false; }
  };
  workload::fake::Options waiting = fake();
  waiting.data_wait_share = 0.5;
  Study study;
  Loaderless workload(waiting);
  MemoryWriter writer(study.kept);
  const TuneResult result = tune(workload, writer, asked(), study.quiet, study.stop);
  EXPECT_FALSE(result.facts.loader_check);
  for (const trial::Trial& trial : result.trials) EXPECT_EQ(trial.setting.workers, 1);
  for (const std::string& reason : result.recommendation->reasons)
    EXPECT_THAT(reason, testing::Not(HasSubstr("--workers")));
}

TEST(Tune, AGivenBatchIsKeptAndItsMicroBatchSearched) {
  Study study;
  TuneOptions options = asked();
  options.global_batch = 3000;
  options.limits.max = 3000, options.limits.divisor_of = 3000;
  workload::fake::Options made = fake();
  made.per_sample_seconds = 1e-4;  // the knee lies at 380: of 3,000's divisors, 500 comes next
  const TuneResult result = study.run(options, made);
  ASSERT_TRUE(result.recommendation);
  for (const trial::Trial& trial : result.trials) {
    EXPECT_EQ(trial.setting.batch, 3000);
    EXPECT_EQ(3000 % trial.setting.accumulation, 0);
  }
  EXPECT_EQ(result.recommendation->setting.batch, 3000);
  EXPECT_GE(result.recommendation->setting.micro_batch(), 300);
  EXPECT_LE(result.recommendation->setting.micro_batch(), 600);
  EXPECT_THAT(result.recommendation->sentence, HasSubstr("Train with batch 3,000 as"));
  EXPECT_EQ(study.run(options, made).trials.size(), result.trials.size()) << "nothing is repeated";
}

TEST(Tune, WorkersAreSearchedWhereLoadingLimits) {
  workload::fake::Options slow_loading = fake();
  slow_loading.load_seconds_per_sample = 2.9e-5;  // three workers hide it behind 1e-5 of computing
  TuneOptions options = asked();
  options.most_workers = 16;
  Study study;
  const TuneResult result = study.run(options, slow_loading);
  ASSERT_TRUE(result.recommendation);
  EXPECT_EQ(result.recommendation->setting.workers, 4);
  // The knee is the one of the curve with those workers, not of the flat one with a single one.
  const double truth =
      workload::fake::samples_per_second(slow_loading, result.recommendation->setting.batch);
  EXPECT_GT(truth, 0.92 * 100'000);
  EXPECT_THAT(result.recommendation->sentence, HasSubstr("4 loader workers"));
  EXPECT_EQ(study.run(options, slow_loading).trials.size(), result.trials.size());
}

TEST(Tune, WorkersAreLeftAloneWhereLoadingIsHidden) {
  TuneOptions options = asked();
  options.most_workers = 16;
  workload::fake::Options made = fake();
  made.data_wait_share = 0.01;
  Study study;
  for (const trial::Trial& trial : study.run(options, made).trials)
    EXPECT_EQ(trial.setting.workers, 1);
}

}  // namespace
}  // namespace sweetspot::study
