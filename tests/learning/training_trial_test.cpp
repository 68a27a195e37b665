#include "learning/training_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "measure/made_up.h"

namespace sweetspot::learning {
namespace {

using measure::StillMachine;
using testing::SizeIs;
using trial::Outcome;

// Each epoch has ten steps and takes as long as the script says.
struct ScriptedTraining : workload::Training {
  ScriptedTraining(StillMachine& its_machine, std::function<double(int epoch)> its_script)
      : machine(its_machine), script(std::move(its_script)) {}

  std::string device() const override { return "cuda:0"; }
  std::optional<core::Bytes> predict(const trial::Setting&) const override { return 500; }
  workload::Trained train(const trial::Setting& setting, int epochs,
                          workload::TrainingObserver& observer,
                          const workload::Until& until) override {
    workload::Trained trained;
    for (int number = 1; number <= epochs; ++number) {
      trial::Epoch epoch;
      epoch.epoch = number;
      epoch.train_seconds = script(number);
      machine.time += epoch.train_seconds + 1;  // a second of evaluation
      epoch.test_accuracy = 0.9 + 0.01 * number;
      trained.steps += 10, trained.samples += 10 * setting.batch;
      observer.progress({number, 0.5, 100});
      if (until.stop != 0) {
        trained.outcome = Outcome::cancelled;
        return trained;
      }
      observer.epoch(epoch);
    }
    trained.memory_measured = 480;
    return trained;
  }

  StillMachine& machine;
  std::function<double(int)> script;
};

struct TrainingTrials : testing::Test {
  StillMachine machine;
  std::atomic<int> stop{0};
  std::vector<int> seen;

  trial::Trial train(std::function<double(int)> script, int epochs = 3) {
    ScriptedTraining training(machine, std::move(script));
    const measure::Watch watch = [this](const measure::TrialProgress& sight) {
      seen.push_back(sight.epoch);
    };
    trial::Setting setting;
    setting.batch = 60;
    setting.seed = 7;
    return learning::train(training, setting, {epochs}, watch, {stop}, machine);
  }
};

TEST_F(TrainingTrials, KeepEveryEpochAndWhatItTook) {
  const trial::Trial trial = train([](int epoch) { return 2.0 + epoch; });
  EXPECT_EQ(trial.outcome, Outcome::ok);
  EXPECT_EQ(trial.device, "cuda:0");
  EXPECT_EQ(trial.setting.seed, 7u);
  ASSERT_THAT(trial.epochs, SizeIs(3));
  EXPECT_DOUBLE_EQ(trial.epochs[1].train_seconds, 4);
  EXPECT_DOUBLE_EQ(*trial.epochs[2].test_accuracy, 0.93);
  EXPECT_EQ(trial.steps, 30);
  EXPECT_EQ(trial.samples_seen, 1800);
  EXPECT_DOUBLE_EQ(*trial.step_seconds_median, 0.4);
  EXPECT_NEAR(trial.samples_per_second->mean, 1800 / 12.0, 1e-9);
  EXPECT_LT(trial.samples_per_second->low, trial.samples_per_second->high);
  EXPECT_DOUBLE_EQ(trial.seconds, 15);
  EXPECT_EQ(trial.memory_predicted, 500u);
  EXPECT_EQ(trial.memory_measured, 480u);
  EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3));
}

TEST_F(TrainingTrials, OfOneEpochHaveNoInterval) {
  const trial::Trial trial = train([](int) { return 2.0; }, 1);
  EXPECT_EQ(trial.outcome, Outcome::ok);
  EXPECT_FALSE(trial.samples_per_second);
  EXPECT_DOUBLE_EQ(*trial.step_seconds_median, 0.2);
}

TEST_F(TrainingTrials, FinishAfterTheFirstStopAndEndAtTheSecond) {
  stop = 1;
  EXPECT_EQ(train([](int) { return 1.0; }).outcome, Outcome::ok);
  const trial::Trial ended = train([this](int epoch) {
    if (epoch == 2) stop = 2;
    return 1.0;
  });
  EXPECT_EQ(ended.outcome, Outcome::cancelled);
  EXPECT_THAT(ended.epochs, SizeIs(1));
}

TEST_F(TrainingTrials, WhatTheyThrowIsTheirOutcome) {
  const auto thrown = [&](auto error) { return train([error](int) -> double { throw error; }); };
  EXPECT_EQ(thrown(std::bad_alloc()).outcome, Outcome::out_of_memory);
  EXPECT_EQ(thrown(core::OutOfMemory("4 GiB were refused")).outcome, Outcome::out_of_memory);
  const trial::Trial crashed = thrown(core::MachineError("the disk is gone"));
  EXPECT_EQ(crashed.outcome, Outcome::crashed);
  EXPECT_EQ(crashed.note, "the disk is gone");
}

TEST_F(TrainingTrials, SayWhenTheMachineWasBusyWithSomethingElse) {
  machine.load_now.busy_ticks = 0, machine.load_now.all_ticks = 0, machine.load_now.own_ticks = 0;
  const trial::Trial quiet = train([](int) { return 1.0; });
  EXPECT_FALSE(quiet.contention.contended);
  const trial::Trial busy = train([this](int) {
    *machine.load_now.busy_ticks += 100, *machine.load_now.all_ticks += 200;
    return 1.0;
  });
  EXPECT_TRUE(busy.contention.contended);
  EXPECT_EQ(busy.samples_per_second, quiet.samples_per_second) << "said, not guessed at";
}

}  // namespace
}  // namespace sweetspot::learning
