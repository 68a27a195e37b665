// A sweep whose points several processes measure, over a store on disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "sweep/sweep.h"
#include "temporary_folder.h"
#include "workload/fake/fake.h"

namespace sweetspot::sweep {
namespace {

using tests::TemporaryFolder;
using workload::fake::FakeWorkload;

const trial::StudyKey shared_question{"fake", "question"};
const trial::Environment shared_environment{"program", "machine", "{}"};

SweepOptions points_of(std::vector<std::int64_t> batches, int repeat) {
  SweepOptions options;
  for (const std::int64_t batch : batches) options.points.emplace_back().batch = batch;
  options.repeat = repeat;
  return options;
}

workload::fake::Options shared_fake() {
  workload::fake::Options fake;
  fake.samples = 1000;
  fake.out_of_memory_above = 64;
  return fake;
}

class SharedSweep : public testing::Test {
 protected:
  std::unique_ptr<store::Store> open() const {
    return store::open_store((folder_ / "a.db").string());
  }

  study::Result work(const SweepOptions& options, int stop_value = 0,
                     const store::QueueTerms& terms = {}) const {
    FakeWorkload workload(shared_fake());
    study::Observer quiet;
    const std::atomic<int> stop{stop_value};
    const auto store = open();
    const auto queue = store->join_study(shared_question, shared_environment, terms);
    return sweep(workload, Shared{*queue, *store}, options, quiet, stop);
  }

  TemporaryFolder folder_;
};

TEST_F(SharedSweep, WorkersTogetherDoWhatOneWould) {
  const SweepOptions options = points_of({8, 16, 32, 64, 128, 2000}, 2);
  std::vector<study::Result> results(4);
  {
    std::vector<std::jthread> workers;
    for (study::Result& result : results) workers.emplace_back([&] { result = work(options); });
  }
  std::map<std::int64_t, std::vector<trial::Outcome>> outcomes;
  const trial::Study study = open()->studies().at(0);
  EXPECT_EQ(study.end, trial::End::finished);
  for (const trial::Trial& trial : study.trials)
    outcomes[trial.setting.batch].push_back(trial.outcome);
  ASSERT_EQ(outcomes.size(), 6u);
  for (const auto& [batch, found] : outcomes) {
    const auto expected = batch > 1000 ? trial::Outcome::refused
                          : batch > 64 ? trial::Outcome::out_of_memory
                                       : trial::Outcome::ok;
    EXPECT_EQ(found, std::vector(2, expected)) << batch;
  }
  for (const study::Result& result : results) {
    EXPECT_EQ(result.answer.end, trial::End::finished);
    EXPECT_EQ(result.trials.size(), 12u) << "each has the trials of all";
  }
}

TEST_F(SharedSweep, OneThatIsStoppedGivesBackAndAnotherGoesOn) {
  const SweepOptions options = points_of({8, 16}, 1);
  EXPECT_EQ(work(options, 2).answer.end, trial::End::stopped);
  trial::Study study = open()->studies().at(0);
  EXPECT_TRUE(study.trials.empty());
  EXPECT_EQ(study.end, trial::End::stopped);
  EXPECT_EQ(work(options).trials.size(), 2u);
  EXPECT_EQ(open()->studies().at(0).end, trial::End::finished);
}

TEST_F(SharedSweep, WhatALostProcessHadIsDone) {
  const SweepOptions options = points_of({8, 16}, 1);
  {
    const auto queue = open()->join_study(shared_question, shared_environment, {});
    queue->plan(options.points);
    queue->claim();  // and gone
  }
  const study::Result result = work(options, 0, {core::Seconds(-1), 3});
  EXPECT_EQ(result.answer.end, trial::End::finished);
  EXPECT_EQ(result.trials.size(), 2u);
  const auto attempts = open()->attempts(open()->studies().at(0).id);
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[0].ending, store::Attempt::Ending::lost);
}

TEST_F(SharedSweep, WhatIsDoneIsNotDoneAgain) {
  const SweepOptions options = points_of({8, 16}, 1);
  work(options);
  const study::Result again = work(points_of({8, 16, 32}, 1));
  EXPECT_EQ(again.resumed, 2u);
  EXPECT_EQ(again.trials.size(), 3u);
}

// A process sends heartbeats while its trial runs, with its steps.
TEST_F(SharedSweep, TheQueueHearsThatATrialIsWorkedOn) {
  class Listening : public store::Queue {
   public:
    explicit Listening(store::Queue& queue) : queue_(queue) {}
    store::Writer& writer() override { return queue_.writer(); }
    void plan(std::span<const trial::Setting> settings) override { queue_.plan(settings); }
    std::optional<store::Claim> claim() override { return queue_.claim(); }
    bool beat(const store::Claim& claim, std::int64_t steps) override {
      beats += 1;
      beats.notify_all();
      return queue_.beat(claim, steps);
    }
    bool finish(const store::Claim& claim, trial::Trial& trial) override {
      return queue_.finish(claim, trial);
    }
    void give_back(const store::Claim& claim) override { queue_.give_back(claim); }
    store::QueueCount count() override { return queue_.count(); }
    std::atomic<int> beats = 0;

   private:
    store::Queue& queue_;
  };
  // Its trial does not end before the queue has received one.
  class Waiting : public study::Observer {
   public:
    explicit Waiting(Listening& queue) : queue_(queue) {}
    void started(const trial::Setting&) override { queue_.beats.wait(0); }

   private:
    Listening& queue_;
  };
  const auto store = open();
  const auto queue = store->join_study(shared_question, shared_environment, {});
  Listening listening(*queue);
  Waiting waiting(listening);
  FakeWorkload workload(shared_fake());
  const std::atomic<int> stop{0};
  sweep(workload, Shared{listening, *store, core::Seconds(0.001)}, points_of({8}, 1), waiting,
        stop);
  EXPECT_GE(listening.beats, 1);
}

}  // namespace
}  // namespace sweetspot::sweep
