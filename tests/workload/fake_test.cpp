#include "workload/fake/fake.h"

#include <gtest/gtest.h>

#include <cmath>
#include <new>
#include <numbers>
#include <numeric>

#include "core/error.h"

namespace sweetspot::workload::fake {
namespace {

trial::Setting at(std::int64_t batch) {
  trial::Setting setting;
  setting.batch = batch;
  return setting;
}

TEST(Fake, ExactArithmetic) {
  const Options options{
      .fixed_seconds = 0.5, .per_sample_seconds = 0.25, .cliffs = {{10, 2}}, .padded_to = 4};
  EXPECT_DOUBLE_EQ(step_seconds(options, 8), 2.5);
  EXPECT_DOUBLE_EQ(step_seconds(options, 9), 3.5);   // padded to 12
  EXPECT_DOUBLE_EQ(step_seconds(options, 10), 7.0);  // and beyond the cliff
  EXPECT_DOUBLE_EQ(samples_per_second(options, 8), 3.2);
}

TEST(Fake, StepsAreTheirPhases) {
  FakeWorkload workload({.noise_share = 0.1});
  const auto step = workload.open(at(32))->step();
  EXPECT_EQ(step.samples, 32);
  EXPECT_NEAR(std::accumulate(step.phases.begin(), step.phases.end(), 0.0), step.seconds, 1e-12);
}

// The same for the same seed; batches, and sessions of one batch, each have noise of their own.
TEST(Fake, WorkloadsRepeatThemselvesAndSessionsDiffer) {
  const Options noisy = {.noise_share = 0.1, .slow_step_probability = 0.1};
  FakeWorkload workload(noisy), again(noisy);
  const auto one = workload.open(at(32)), same = again.open(at(32)), next = workload.open(at(32)),
             other = workload.open(at(33));
  double sessions_apart = 0, batches_apart = 0;
  for (int i = 0; i < 20; ++i) {
    const double seconds = one->step().seconds;
    EXPECT_GT(seconds, 0);
    EXPECT_DOUBLE_EQ(seconds, same->step().seconds);
    sessions_apart += std::abs(seconds - next->step().seconds) / step_seconds({}, 32);
    batches_apart +=
        std::abs(seconds / step_seconds({}, 32) - other->step().seconds / step_seconds({}, 33));
  }
  EXPECT_GT(sessions_apart, 0.1);
  EXPECT_GT(batches_apart, 0.1);
}

TEST(Fake, MemoryIsWhatItPredicts) {
  FakeWorkload workload({.memory_fixed = 100, .memory_per_sample = 10, .memory_padded_to = 8});
  EXPECT_EQ(workload.predict(at(9), Extent::session), 260u);
  EXPECT_EQ(workload.open(at(9))->seen().memory, 260u);
  FakeWorkload silent({.predicts_memory = false});
  EXPECT_FALSE(silent.predict(at(9), Extent::session));
}

TEST(Fake, RunsOutOfMemory) {
  FakeWorkload workload({.out_of_memory_above = 512});
  EXPECT_TRUE(workload.open(at(512)));
  EXPECT_THROW(workload.open(at(513)), std::bad_alloc);
}

TEST(Fake, OneBatchRunsOutOfMemoryInTheMiddle) {
  FakeWorkload workload({.out_of_memory_above = 512, .out_of_memory_at_step = 3});
  const auto fits = workload.open(at(512)), fails = workload.open(at(513));
  for (int i = 0; i < 2; ++i) fits->step(), fails->step();
  const double before = workload.seconds_passed();
  EXPECT_THROW(fails->step(), core::OutOfMemory);
  EXPECT_THROW(fails->step(), core::OutOfMemory);
  EXPECT_EQ(workload.seconds_passed(), before);
  EXPECT_NO_THROW(fits->step());
}

TEST(Fake, OpensSideBySideUnlessToldOtherwise) {
  EXPECT_TRUE(FakeWorkload({}).switching().in_place);
  EXPECT_FALSE(FakeWorkload({.side_by_side = false}).switching().in_place);
}

TEST(Fake, SessionsShareAClockThatTheirStepsMoveOn) {
  FakeWorkload workload({.fixed_seconds = 0, .per_sample_seconds = 0.25});
  const auto one = workload.open(at(4)), two = workload.open(at(8));
  one->step(), two->step(), one->step();
  EXPECT_DOUBLE_EQ(workload.seconds_passed(), 1 + 2 + 1);
}

TEST(Fake, TheMachineDriftsTheSameForAllSessions) {
  const Options options{
      .fixed_seconds = 0, .per_sample_seconds = 0.25, .drift_share = 0.1, .drift_seconds = 40};
  FakeWorkload workload(options);
  const auto one = workload.open(at(4)), two = workload.open(at(8));
  for (int i = 0; i < 50; ++i)
    for (Session* session : {one.get(), two.get()}) {
      const double now = workload.seconds_passed();
      const double factor = 1 + 0.1 * std::sin(2 * std::numbers::pi * now / 40);
      EXPECT_DOUBLE_EQ(slowdown(options, now), factor);
      EXPECT_NEAR(session->step().seconds, (session == one.get() ? 1 : 2) * factor, 1e-12);
    }
}

TEST(Fake, NeighboursComeAndGoAsTheSeedSays) {
  const Options options{.neighbour_share = 0.25, .neighbour_seconds = 2, .neighbour_slowdown = 3};
  int with = 0, changes = 0;
  for (int cell = 0; cell < 4000; ++cell) {
    const double now = slowdown(options, 2 * cell), later = slowdown(options, 2 * cell + 1.99);
    EXPECT_TRUE(now == 1 || now == 3);
    EXPECT_EQ(now, later);
    with += now == 3;
    changes += now != slowdown(options, 2 * cell + 2);
  }
  EXPECT_NEAR(with, 1000, 100);
  EXPECT_NEAR(changes, 4000 * 2 * 0.25 * 0.75, 150);
  Options other = options;
  other.seed = 7;
  int alike = 0;
  for (int cell = 0; cell < 1000; ++cell)
    alike += slowdown(options, 2 * cell) == slowdown(other, 2 * cell);
  EXPECT_LT(alike, 800);  // 625 by chance
}

TEST(Fake, ARepeatedRunDeviates) {
  FakeWorkload workload({.run_deviation = 0.02});
  FakeWorkload again({.run_deviation = 0.02});
  double sum = 0, squares = 0;
  constexpr int runs = 500;
  for (int run = 0; run < runs; ++run) {
    const auto session = workload.open(at(32)), same = again.open(at(32));
    const double seconds = session->step().seconds;
    EXPECT_EQ(same->step().seconds, seconds);
    EXPECT_NEAR(session->step().seconds, seconds, 1e-12) << "one factor for all its steps";
    const double deviation = std::log(seconds / step_seconds({}, 32));
    sum += deviation, squares += deviation * deviation;
  }
  EXPECT_NEAR(sum / runs, 0, 0.004);
  EXPECT_NEAR(std::sqrt(squares / runs), 0.02, 0.002);
}

TEST(FakeTraining, GoesOnWhereTheMachineIs) {
  FakeTraining training({.samples = 100, .run_deviation = 0.1});
  struct Heard : TrainingObserver {
    std::vector<double> seconds;
    void epoch(const trial::Epoch& epoch) override { seconds.push_back(epoch.train_seconds); }
  } heard;
  const std::atomic<int> stop = 0;
  for (int run = 0; run < 2; ++run) training.train(at(10), 1, heard, {stop});
  ASSERT_EQ(heard.seconds.size(), 2u);
  EXPECT_NE(heard.seconds[0], heard.seconds[1]);
}

TEST(Fake, DriftsWhenContended) {
  FakeWorkload workload({.drift_share_per_step = 0.5});
  const auto session = workload.open(at(8));
  const double first = session->step().seconds;
  EXPECT_DOUBLE_EQ(session->step().seconds, 1.5 * first);
}

}  // namespace
}  // namespace sweetspot::workload::fake
