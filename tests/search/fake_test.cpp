#include "workload/fake/fake.h"

#include <gtest/gtest.h>

#include <cmath>
#include <new>
#include <numeric>

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

TEST(Fake, SessionsRepeatThemselvesAndDiffer) {
  FakeWorkload workload({.noise_share = 0.1, .slow_step_probability = 0.1});
  const auto one = workload.open(at(32)), two = workload.open(at(32)),
             other = workload.open(at(33));
  double apart = 0;
  for (int i = 0; i < 20; ++i) {
    const double seconds = one->step().seconds;
    EXPECT_GT(seconds, 0);
    EXPECT_DOUBLE_EQ(seconds, two->step().seconds);
    apart +=
        std::abs(seconds / step_seconds({}, 32) - other->step().seconds / step_seconds({}, 33));
  }
  EXPECT_GT(apart, 0.1);
}

TEST(Fake, MemoryIsWhatItPredicts) {
  FakeWorkload workload({.memory_fixed = 100, .memory_per_sample = 10, .memory_padded_to = 8});
  EXPECT_EQ(workload.predict(at(9)), 260u);
  EXPECT_EQ(workload.open(at(9))->memory(), 260u);
  FakeWorkload silent({.predicts_memory = false});
  EXPECT_FALSE(silent.predict(at(9)));
}

TEST(Fake, RunsOutOfMemory) {
  FakeWorkload workload({.out_of_memory_above = 512});
  EXPECT_TRUE(workload.open(at(512)));
  EXPECT_THROW(workload.open(at(513)), std::bad_alloc);
}

TEST(Fake, DriftsWhenContended) {
  FakeWorkload workload({.drift_share_per_step = 0.5});
  const auto session = workload.open(at(8));
  const double first = session->step().seconds;
  EXPECT_DOUBLE_EQ(session->step().seconds, 1.5 * first);
}

}  // namespace
}  // namespace sweetspot::workload::fake
