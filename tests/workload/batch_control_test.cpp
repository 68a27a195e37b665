#include "workload/native/batch_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "words.h"
#include "workload/native/train.h"

namespace sweetspot::workload::native {
namespace {

Options dynamic(std::int64_t least, std::int64_t most) {
  Options options;
  options.model = "mlp", options.data = "synthetic:2000";
  options.dynamic = DynamicBatch{least, most, true};
  options.pipeline.batch = options.dynamic->ladder().back();
  options.epochs = 2;
  return options;
}

// A step whose gradients have exactly this noise scale.
engine::StepResult noisy(double noise_scale) {
  engine::StepResult step;
  step.gradient_norms =
      convergence::GradientNorms{4, 1 + noise_scale / 4, 64, 1 + noise_scale / 64};
  return step;
}

std::vector<convergence::Rung> speeds(const Options& options) {
  std::vector<convergence::Rung> all;
  for (const std::int64_t batch : options.batches())
    all.push_back({batch, static_cast<double>(batch) / static_cast<double>(9 + batch)});
  return all;
}

TEST(DynamicBatch, GrowsWithTheNoiseScaleARungAtATime) {
  const Options options = dynamic(8, 256);
  BatchControl control(options);
  control.set_speeds(speeds(options));
  EXPECT_EQ(control.after(0)->batch, 8);
  EXPECT_FALSE(control.after(0.06)) << "nothing is known yet";
  for (int i = 0; i < 200; ++i) control.add(noisy(115));  // progress is best at √(9 · 115) ≈ 32
  ASSERT_TRUE(control.noise_scale());
  EXPECT_NEAR(*control.noise_scale(), 115, 1e-6);
  EXPECT_FALSE(control.after(0.08)) << "decided twenty times an epoch";
  const auto first = control.after(0.1);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->batch, 16);
  EXPECT_NEAR(*first->noise_scale, 115, 1e-6);
  EXPECT_GT(first->learning_rate, options.optimizer.learning_rate) << "it follows";
  EXPECT_FALSE(control.after(0.15)) << "it looks anew";
  for (int i = 0; i < 10; ++i) control.add(noisy(115));
  EXPECT_EQ(control.after(0.2)->batch, 32);
  for (int i = 0; i < 10; ++i) control.add(noisy(115));
  EXPECT_FALSE(control.after(0.25)) << "it has arrived";
  for (int i = 0; i < 200; ++i) control.add(noisy(600));
  EXPECT_EQ(control.after(1.3)->batch, 64);
  for (int i = 0; i < 400; ++i) control.add(noisy(1));
  EXPECT_FALSE(control.after(1.5)) << "it never shrinks";
}

TEST(DynamicBatch, StaysWhereNoSpeedIsKnown) {
  const Options options = dynamic(8, 256);
  BatchControl control(options);
  control.after(0);
  for (int i = 0; i < 100; ++i) control.add(noisy(1e6));
  EXPECT_FALSE(control.after(1));
}

TEST(DynamicBatch, IsReadAndRefused) {
  EXPECT_EQ(parse_dynamic_batch("dynamic"), DynamicBatch{});
  EXPECT_EQ(parse_dynamic_batch("dynamic:32..500").ladder(),
            (std::vector<std::int64_t>{32, 64, 128, 256}));
  const auto why = [](const char* text) -> std::string {
    try {
      parse_dynamic_batch(text);
    } catch (const core::InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_WORDS(why("dynamic:0..64"));
  EXPECT_WORDS(why("dynamic:64..8"));
  EXPECT_WORDS(why("dynamical"));
  EXPECT_WORDS(why("dynamic:8"));
}

TEST(DynamicTraining, HasAllItsPlansAndTheirMemoryFromTheStart) {
  const Options options = dynamic(8, 64);
  Observer quiet;
  const std::atomic<int> stop{0};
  const Result result = train(open(options, [](std::string_view) {}), quiet, stop);
  EXPECT_EQ(result.status, Status::finished);
  EXPECT_EQ(result.measured, result.predicted);
  ASSERT_FALSE(result.batches.empty());
  EXPECT_EQ(result.batches.front().batch, 8);
  EXPECT_EQ(result.epochs.size(), 2u);
  for (const EpochResult& epoch : result.epochs) EXPECT_EQ(epoch.samples, 2000);
}

// The updates that measure the speeds leave no trace.
TEST(DynamicTraining, OfOneRungIsTrainingAtThatBatch) {
  const auto losses = [](const Options& options) {
    Observer quiet;
    const std::atomic<int> stop{0};
    std::vector<double> all;
    for (const EpochResult& epoch :
         train(open(options, [](std::string_view) {}), quiet, stop).epochs)
      all.insert(all.end(), {*epoch.train_loss, *epoch.test_loss});
    return all;
  };
  Options fixed = dynamic(8, 8);
  fixed.dynamic.reset();
  fixed.pipeline.batch = 8;
  EXPECT_EQ(losses(dynamic(8, 8)), losses(fixed));
}

TEST(DynamicTraining, ItsBatchesAsAScheduleGiveTheSameRun) {
  Options options = dynamic(4, 64);
  options.learning_rate_rule = convergence::LearningRateRule::square_root;
  Observer quiet;
  const std::atomic<int> stop{0};
  const auto trained = [&] { return train(open(options, [](std::string_view) {}), quiet, stop); };
  const Result grown = trained();
  options.dynamic.reset();
  for (const BatchChange& change : grown.batches)
    options.schedule.push_back({change.batch, change.from_epoch});
  options.pipeline.batch = grown.batches.back().batch;
  const Result scheduled = trained();
  EXPECT_EQ(scheduled.steps, grown.steps);
  EXPECT_EQ(*scheduled.epochs.back().test_loss, *grown.epochs.back().test_loss);
}

TEST(DynamicTraining, AsksForNoMoreThanTheDataSetHas) {
  Options options = dynamic(16, 1024);
  options.dynamic->most_given = false;
  EXPECT_EQ(open(options, [](std::string_view) {}).options.batches().back(), 64)
      << "sixteen updates an epoch";
  options.dynamic = DynamicBatch{16, 4096, true};
  EXPECT_THROW(open(options, [](std::string_view) {}), core::InputError);
}

}  // namespace
}  // namespace sweetspot::workload::native
