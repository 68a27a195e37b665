#include "workload/native/profile.h"

#include <gtest/gtest.h>

#include <numeric>

namespace sweetspot::workload::native {
namespace {

native::Run tiny_run() {
  Options options;
  options.model = "small-cnn";
  options.data = "synthetic:64";
  options.pipeline.batch = 8;
  options.threads = 2;
  return open(options, [](std::string_view) {});
}

TEST(Profile, TakesTheStepsAskedForApart) {
  const native::Run run = tiny_run();
  const std::atomic<int> stop = 0;
  const Profile found = profile(run, {.batch = 8, .accumulation = 2}, {.steps = 3}, stop);
  EXPECT_EQ(found.plain_steps, 3);
  ASSERT_EQ(found.steps.size(), 3u);
  EXPECT_NEAR(std::accumulate(found.phases.begin(), found.phases.end(), 0.0), found.step_seconds,
              1e-9);
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    EXPECT_GT(found.steps[i].seconds, found.steps[i].data_wait);
    EXPECT_EQ(found.steps[i].parts.threads.size(), 2u);
    if (i == 0) continue;
    EXPECT_GE(found.steps[i].start, found.steps[i - 1].start + found.steps[i - 1].seconds);
  }
}

TEST(Profile, OperationsAreThePlansAndFitInTheStep) {
  const native::Run run = tiny_run();
  const std::atomic<int> stop = 0;
  const Profile found = profile(run, {.batch = 8}, {.steps = 2}, stop);
  const std::vector<OperationTime> operations = operation_times(found);
  ASSERT_EQ(operations.size(), found.steps[0].parts.operations.size() + 1);
  EXPECT_EQ(operations.back().name, "waiting");
  double in_operations = 0, in_steps = 0;
  for (const OperationTime& operation : operations) in_operations += operation.seconds();
  for (const ProfiledStep& step : found.steps) in_steps += step.seconds / 2;
  EXPECT_GT(in_operations, 0);
  EXPECT_LE(in_operations, in_steps);
}

TEST(Profile, OperationsAloneAreTheSameOnes) {
  const native::Run run = tiny_run();
  const std::atomic<int> stop = 0;
  const auto whole = operation_times(profile(run, {.batch = 8}, {.steps = 1}, stop));
  const auto alone = operation_times(profile_operations(run, {.batch = 8}, core::Seconds(0)));
  ASSERT_EQ(alone.size(), whole.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(alone[i].name, whole[i].name);
    EXPECT_EQ(alone[i].work.flops, whole[i].work.flops);
    EXPECT_EQ(alone[i].work.bytes, whole[i].work.bytes);
  }
}

TEST(Profile, LeavesTheNetworkAsItWas) {
  native::Run run = tiny_run();
  run.options.pipeline.shuffle = false;
  const std::atomic<int> stop = 0;
  const Profile found = profile(run, {.batch = 64}, {.steps = 4}, stop);
  ASSERT_EQ(found.steps.size(), 4u);
  for (const ProfiledStep& step : found.steps)
    EXPECT_EQ(step.parts.result.loss, found.steps.front().parts.result.loss);
}

TEST(Profile, EndsWhenStoppedWithWhatThereIs) {
  const native::Run run = tiny_run();
  const std::atomic<int> stop = 1;
  const Profile found = profile(run, {.batch = 8}, {.steps = 1'000'000}, stop);
  EXPECT_EQ(found.plain_steps, 1);
  EXPECT_EQ(found.steps.size(), 1u);
}

}  // namespace
}  // namespace sweetspot::workload::native
