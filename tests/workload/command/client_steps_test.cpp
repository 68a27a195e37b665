#include "workload/command/client_steps.h"

#include <gtest/gtest.h>

#include <vector>

namespace sweetspot::workload::command::client {
namespace {

constexpr double now = 1000;

StepEnd step_at(double seconds, std::int64_t dropped = 0) {
  StepEnd step;
  step.at_seconds = seconds;
  step.dropped = dropped;
  return step;
}

std::vector<double> durations(Steps& steps) {
  std::vector<double> all;
  while (const auto step = steps.take()) all.push_back(step->seconds);
  return all;
}

TEST(ClientSteps, LastFromTheBeginOrTheStepBefore) {
  Steps steps(64, 100);
  steps.begin({101}, now);
  steps.begin({102}, now);  // a later one replaces an earlier one
  steps.step(step_at(103), now);
  steps.step(step_at(105), now);
  steps.begin({110}, now);  // an evaluation is no step
  steps.step(step_at(111), now);
  EXPECT_EQ(durations(steps), (std::vector<double>{1, 2, 1}));
  EXPECT_EQ(steps.first_mark(), 101);
  EXPECT_EQ(steps.bad(), 0);
}

TEST(ClientSteps, TheFirstWithoutABeginIsAMark) {
  Steps steps(64, 100);
  EXPECT_FALSE(steps.first_mark());
  steps.step(step_at(103), now);
  steps.step(step_at(104), now);
  EXPECT_EQ(durations(steps), std::vector<double>{1});
  EXPECT_EQ(steps.first_mark(), 103);
}

TEST(ClientSteps, NoDurationIsTakenAcrossAGap) {
  Steps steps(64, 100);
  steps.begin({101}, now);
  steps.step(step_at(102, 0), now);
  steps.step(step_at(110, 3), now);
  steps.step(step_at(111, 3), now);
  EXPECT_EQ(durations(steps), (std::vector<double>{1, 1}));
}

TEST(ClientSteps, TimesThatCannotBeAreBad) {
  Steps steps(64, 100);
  steps.begin({7}, now);  // a clock that started with the process
  steps.step(step_at(9), now);
  EXPECT_EQ(steps.bad(), 2);
  steps.begin({101}, now);
  steps.step(step_at(102), now);
  steps.step(step_at(101.5), now);  // backwards
  steps.step(step_at(103), now);    // no duration across it
  steps.step(step_at(104), now);
  steps.step(step_at(now + 5), now);  // the future
  steps.step(step_at(105), now);
  steps.step(step_at(106), now);
  EXPECT_EQ(steps.bad(), 4);
  EXPECT_EQ(durations(steps), (std::vector<double>{1, 1, 1}));
}

TEST(ClientSteps, TwoAtTheSameMomentHaveNoDuration) {
  Steps steps(64, 100);
  steps.begin({101}, now);
  steps.step(step_at(101), now);
  EXPECT_TRUE(durations(steps).empty());
  EXPECT_EQ(steps.bad(), 0);
}

TEST(ClientSteps, SamplesAreTheBatchUnlessSaid) {
  Steps steps(64, 100);
  steps.begin({101}, now);
  steps.step(step_at(102), now);
  StepEnd several = step_at(103);
  several.updates = 5;
  steps.step(several, now);
  StepEnd said = step_at(104);
  said.samples = 17;
  steps.step(said, now);
  const auto plain = steps.take(), five = steps.take(), seventeen = steps.take();
  EXPECT_EQ(plain->samples, 64);
  EXPECT_EQ(plain->updates, 1);
  EXPECT_EQ(five->samples, 320);
  EXPECT_EQ(five->updates, 5);
  EXPECT_EQ(seventeen->samples, 17);
}

// 464 and 512 are both multiples of 16.
TEST(ClientSteps, MostStepsHaveTheBatchBesidesAnEpochsLast) {
  Steps steps(512, 100);
  steps.begin({101}, now);
  for (int i = 0; i < 12; ++i) {
    StepEnd step = step_at(102 + i);
    step.samples = i % 4 == 3 ? 464 : 512;
    steps.step(step, now);
  }
  EXPECT_EQ(steps.samples_per_step(), 512);
}

TEST(ClientSteps, WaitingIsAtMostAllOfAStep) {
  Steps steps(64, 100);
  steps.begin({101}, now);
  StepEnd waited = step_at(103);
  waited.data_wait_seconds = 0.5;
  steps.step(waited, now);
  waited.at_seconds = 104;
  waited.data_wait_seconds = 50;
  steps.step(waited, now);
  const auto wait = [](const trial::Step& step) {
    return step.phases[static_cast<std::size_t>(trial::Phase::data_wait)];
  };
  EXPECT_EQ(wait(*steps.take()), 0.5);
  EXPECT_EQ(wait(*steps.take()), 1);
}

}  // namespace
}  // namespace sweetspot::workload::command::client
