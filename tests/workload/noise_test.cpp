#include "workload/native/noise.h"

#include <gtest/gtest.h>

#include <limits>

#include "workload/native/epochs.h"

namespace sweetspot::workload::native {
namespace {

const std::atomic<int> go_on{0};

Run small_run(std::int64_t batch) {
  Options options;
  options.model = "small-cnn";
  options.data = "synthetic:600";
  options.pipeline.batch = batch;
  options.evaluate = false;
  return open(options, [](std::string_view) {});
}

TEST(NoiseMeasurement, IsTakenAtTheStartAndAfterSomeTraining) {
  const trial::GradientNoise noise =
      measure_noise(small_run(50), {.batch = 50}, 256, core::Seconds(0.4), go_on);
  EXPECT_TRUE(noise.start || noise.later);
  EXPECT_GT(noise.epochs, 0);
  EXPECT_LE(noise.epochs, 1);
}

TEST(NoiseMeasurement, EndsWhenItIsStopped) {
  const std::atomic<int> stop{1};
  const trial::GradientNoise noise =
      measure_noise(small_run(50), {.batch = 50}, 256, core::Seconds(1e6), stop);
  EXPECT_FALSE(noise.start);
  EXPECT_EQ(noise.epochs, 0);
}

TEST(TriedRate, TellsItsLossOrTheStepAtWhichItDiverged) {
  const trial::RateRun good = try_rate(small_run(50), {.batch = 50}, 30, go_on);
  EXPECT_EQ(good.steps, 30);  // more than an epoch
  ASSERT_TRUE(good.loss);
  EXPECT_GT(*good.loss, 0);
  Options options;
  options.model = "mlp", options.data = "synthetic:600";
  options.pipeline.batch = 50;
  options.optimizer.kind = engine::Optimizer::Kind::sgd;
  const trial::RateRun bad = try_rate(open(options, [](std::string_view) {}),
                                      {.batch = 50, .learning_rate = 1e6}, 30, go_on);
  EXPECT_FALSE(bad.loss);
  EXPECT_GE(bad.steps, 1);
  EXPECT_LT(bad.steps, 30);
}

// As a GPU's epochs are wrapped: weights go the same way, and some updates have norms.
TEST(MeasuredEpochs, TellNormsAndLeaveTheTrainingAsItIs) {
  const auto run = small_run(50);
  const auto plain = make_epochs(run, run.options, go_on);
  const auto measured = with_gradient_norms(make_epochs(run, run.options, go_on), run, run.options);
  int told = 0;
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    plain->start(epoch), measured->start(epoch);
    for (;;) {
      const auto expected = plain->next(std::numeric_limits<std::int64_t>::max());
      const auto found = measured->next(std::numeric_limits<std::int64_t>::max());
      ASSERT_EQ(found.size(), expected.size());
      if (found.empty()) break;
      EXPECT_EQ(found.back().result.loss, expected.back().result.loss);
      if (!found.back().result.gradient_norms) continue;
      ++told;
      EXPECT_EQ(found.back().result.gradient_norms->big_batch, 50);
      EXPECT_GT(found.back().result.gradient_norms->small_squared, 0);
    }
  }
  EXPECT_GE(told, 1);
  EXPECT_LT(told, 24);  // of 24 updates, some
}

}  // namespace
}  // namespace sweetspot::workload::native
