#include "convergence/samples_to_target.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sweetspot::convergence {
namespace {

constexpr BatchTradeOff truth{50'000, 300};

TargetRun run_at(std::int64_t batch, double luck = 1) {
  return {batch, luck * truth.samples(static_cast<double>(batch))};
}

TEST(BatchTradeOff, HalvesWhatAStepIsWorthAtTheCriticalBatch) {
  EXPECT_DOUBLE_EQ(truth.samples(300), 2 * truth.least_samples);
  EXPECT_DOUBLE_EQ(truth.updates(300), 2 * truth.least_samples / truth.critical_batch);
  EXPECT_NEAR(truth.updates(1e9), truth.least_samples / truth.critical_batch, 1e-3);
}

TEST(CriticalBatch, OfSteadyNoiseIsTheNoiseScale) {
  const NoiseAt run[] = {{10, 400}, {50, 400}, {200, 400}};
  EXPECT_DOUBLE_EQ(critical_batch_by_noise(run, 64).value(), 400);
  EXPECT_FALSE(critical_batch_by_noise({}, 64));
}

// Growing noise takes more updates of the run, and each of them is worth less.
TEST(CriticalBatch, OfGrowingNoiseWeighsProgressAndNotUpdates) {
  const NoiseAt run[] = {{100, 100}, {200, 900}};
  // At batch 100: 50 updates' worth with 100, 10 with 900.
  EXPECT_DOUBLE_EQ(critical_batch_by_noise(run, 100).value(), (50 * 100 + 10 * 900) / 60.0);
}

TEST(SamplesToTarget, FollowTheGuessFromOneRun) {
  const TargetRun runs[] = {run_at(128)};
  const SamplesToTarget law(runs, {300, 1.001});
  for (const double batch : {16., 128., 1024., 4096.})
    EXPECT_NEAR(law.at(batch).mean / truth.samples(batch), 1, 0.01) << batch;
}

TEST(SamplesToTarget, LeaveAWrongGuessForWhatTheRunsSay) {
  const TargetRun runs[] = {run_at(32), run_at(512), run_at(2048)};
  const CriticalBatchGuess guess{6000, 3};  // 20 times too large
  const SamplesToTarget law(runs, guess);
  const TargetRun one[] = {run_at(32)};
  const double before = SamplesToTarget(one, guess).at(4096).mean;
  EXPECT_LT(before, truth.samples(4096) / 3);
  EXPECT_NEAR(law.at(4096).mean / truth.samples(4096), 1, 0.25);
  EXPECT_LT(law.critical_batch().low, 300);
  EXPECT_GT(law.critical_batch().high, 300);
}

TEST(SamplesToTarget, AreSurerTheMoreIsKnown) {
  const auto width = [](const stats::Interval& interval) {
    return std::log(interval.high / interval.low);
  };
  const TargetRun one[] = {run_at(128)}, more[] = {run_at(128), run_at(128, 1.1), run_at(1024)};
  const CriticalBatchGuess guess{300, 3};
  EXPECT_LT(width(SamplesToTarget(more, guess).at(2048)),
            width(SamplesToTarget(one, guess).at(2048)));
  EXPECT_LT(width(SamplesToTarget(one, guess).at(128)), width(SamplesToTarget(one, guess).at(4096)))
      << "far from what was run, more depends on the guess";
}

TEST(SamplesToTarget, WithoutARunCompareBatches) {
  const SamplesToTarget law({}, {300, 1.001});
  EXPECT_NEAR(law.at(3000).mean / law.at(30).mean, truth.samples(3000) / truth.samples(30), 0.01);
}

}  // namespace
}  // namespace sweetspot::convergence
