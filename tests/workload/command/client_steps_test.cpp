#include "workload/command/client_steps.h"

#include <gtest/gtest.h>

#include <vector>

namespace sweetspot::workload::command {
namespace {

constexpr double later = 1000;

client::StepEnd step_at(double seconds, std::int64_t dropped = 0) {
  client::StepEnd step;
  step.at_seconds = seconds;
  step.dropped = dropped;
  return step;
}

std::vector<double> durations(ClientSteps& steps) {
  std::vector<double> all;
  while (const auto step = steps.take()) all.push_back(step->seconds);
  return all;
}

TEST(ClientSteps, LastFromTheBeginOrTheStepBefore) {
  ClientSteps steps(64, 100);
  steps.hear(client::Begin{101}, later);
  steps.hear(client::Begin{102}, later);  // a later one replaces an earlier one
  steps.hear(step_at(103), later);
  steps.hear(step_at(105), later);
  steps.hear(client::Begin{110}, later);  // an evaluation is no step
  steps.hear(step_at(111), later);
  EXPECT_EQ(durations(steps), (std::vector<double>{1, 2, 1}));
  EXPECT_EQ(steps.first_mark(), 101);
  EXPECT_EQ(steps.bad(), 0);
}

TEST(ClientSteps, TheFirstWithoutABeginIsAMark) {
  ClientSteps steps(64, 100);
  EXPECT_FALSE(steps.first_mark());
  steps.hear(step_at(103), later);
  steps.hear(step_at(104), later);
  EXPECT_EQ(durations(steps), std::vector<double>{1});
  EXPECT_EQ(steps.first_mark(), 103);
}

TEST(ClientSteps, NoDurationIsTakenAcrossAGap) {
  ClientSteps steps(64, 100);
  steps.hear(client::Begin{101}, later);
  steps.hear(step_at(102, 0), later);
  steps.hear(step_at(110, 3), later);
  steps.hear(step_at(111, 3), later);
  EXPECT_EQ(durations(steps), (std::vector<double>{1, 1}));
}

TEST(ClientSteps, TimesThatCannotBeAreBad) {
  ClientSteps steps(64, 100);
  steps.hear(client::Begin{7}, later);  // a clock that started with the process
  steps.hear(step_at(9), later);
  EXPECT_EQ(steps.bad(), 2);
  steps.hear(client::Begin{101}, later);
  steps.hear(step_at(102), later);
  steps.hear(step_at(101.5), later);  // backwards
  steps.hear(step_at(103), later);    // no duration across it
  steps.hear(step_at(104), later);
  steps.hear(step_at(later + 5), later);  // the future
  steps.hear(step_at(105), later);
  steps.hear(step_at(106), later);
  EXPECT_EQ(steps.bad(), 4);
  EXPECT_EQ(durations(steps), (std::vector<double>{1, 1, 1}));
}

TEST(ClientSteps, TwoAtTheSameMomentHaveNoDuration) {
  ClientSteps steps(64, 100);
  steps.hear(client::Begin{101}, later);
  steps.hear(step_at(101), later);
  EXPECT_TRUE(durations(steps).empty());
  EXPECT_EQ(steps.bad(), 0);
}

TEST(ClientSteps, SamplesAreTheBatchUnlessSaid) {
  ClientSteps steps(64, 100);
  steps.hear(client::Begin{101}, later);
  steps.hear(step_at(102), later);
  client::StepEnd several = step_at(103);
  several.updates = 5;
  steps.hear(several, later);
  client::StepEnd said = step_at(104);
  said.samples = 17;
  steps.hear(said, later);
  const auto plain = steps.take(), five = steps.take(), seventeen = steps.take();
  EXPECT_EQ(plain->samples, 64);
  EXPECT_EQ(plain->updates, 1);
  EXPECT_EQ(five->samples, 320);
  EXPECT_EQ(five->updates, 5);
  EXPECT_EQ(seventeen->samples, 17);
}

// 464 and 512 are both multiples of 16.
TEST(ClientSteps, MostStepsHaveTheBatchBesidesAnEpochsLast) {
  ClientSteps steps(512, 100);
  steps.hear(client::Begin{101}, later);
  for (int i = 0; i < 12; ++i) {
    client::StepEnd step = step_at(102 + i);
    step.samples = i % 4 == 3 ? 464 : 512;
    steps.hear(step, later);
  }
  trial::SessionReport report;
  steps.tell(report);
  EXPECT_EQ(report.samples_per_step, 512);
}

TEST(ClientSteps, WaitingIsAtMostAllOfAStep) {
  ClientSteps steps(64, 100);
  steps.hear(client::Begin{101}, later);
  client::StepEnd waited = step_at(103);
  waited.data_wait_seconds = 0.5;
  steps.hear(waited, later);
  waited.at_seconds = 104;
  waited.data_wait_seconds = 50;
  steps.hear(waited, later);
  const auto wait = [](const trial::Step& step) {
    return step.phases[static_cast<std::size_t>(trial::Phase::data_wait)];
  };
  EXPECT_EQ(wait(*steps.take()), 0.5);
  EXPECT_EQ(wait(*steps.take()), 1);
}

}  // namespace
}  // namespace sweetspot::workload::command
