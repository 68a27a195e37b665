#include "stats/step_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sweetspot::stats {
namespace {

std::vector<StepPoint> line(double fixed, double per_sample, std::vector<std::int64_t> batches,
                            double deviation = 0.003) {
  std::vector<StepPoint> points;
  for (std::int64_t batch : batches)
    points.push_back({batch, fixed + per_sample * static_cast<double>(batch), deviation});
  return points;
}

TEST(StepModel, FindsTheLine) {
  const StepModel model(line(2e-3, 1e-5, {8, 64, 512, 4096}));
  EXPECT_NEAR(model.fixed_seconds(), 2e-3, 5e-4);
  EXPECT_NEAR(model.per_sample_seconds(), 1e-5, 1e-6);
  const auto between = model.throughput_interval(1024);
  EXPECT_NEAR(between.mean, 1024 / (2e-3 + 1024e-5), 0.02 * between.mean);
  EXPECT_LT(between.low, between.mean);
  EXPECT_GT(between.high, between.mean);
}

TEST(StepModel, AMeasurementDecidesWhereItWasMade) {
  auto points = line(2e-3, 1e-5, {8, 64, 256, 512, 4096});
  points[2].seconds *= 1.3;  // a cliff up and one down, or a bad size
  const StepModel model(points);
  const double measured = 256 / points[2].seconds;
  EXPECT_NEAR(model.throughput_interval(256).mean, measured, 0.02 * measured);
}

TEST(StepModel, ACliffMovesItsNeighboursToo) {
  auto points = line(2e-3, 1e-5, {8, 64, 512});
  points.push_back({4096, 1.5 * (2e-3 + 4096e-5), 0.003});
  const auto beyond = StepModel(points).throughput_interval(6144);
  const double truth = 6144 / (1.5 * (2e-3 + 6144e-5));
  EXPECT_NEAR(beyond.mean, truth, 0.06 * truth);
}

TEST(StepModel, UncertaintyGrowsWithTheDistanceAndWithRoughness) {
  const auto width = [](const StepModel& model, std::int64_t batch) {
    const auto interval = model.throughput_interval(batch);
    return std::log(interval.high / interval.low);
  };
  const StepModel smooth(line(2e-3, 1e-5, {8, 64, 4096}));
  EXPECT_LT(width(smooth, 64), width(smooth, 96));
  EXPECT_LT(width(smooth, 96), width(smooth, 512));
  auto points = line(2e-3, 1e-5, {8, 64, 4096});
  points[1].seconds *= 1.4;
  EXPECT_GT(width(StepModel(points), 512), 1.5 * width(smooth, 512));
}

TEST(StepModel, NoisyMeasurementsBorrowFromTheLine) {
  auto points = line(2e-3, 1e-5, {8, 32, 128, 512, 2048}, 0.003);
  points[3].seconds *= 1.1;
  points[3].deviation_share = 0.1;
  const double truth = 512 / (2e-3 + 512e-5);
  EXPECT_NEAR(StepModel(points).throughput_interval(512).mean, truth, 0.03 * truth);
}

TEST(StepModel, OnePointIsEnoughToBegin) {
  const StepModel model(line(2e-3, 1e-5, {16}));
  EXPECT_NEAR(model.throughput_interval(16).mean, 16 / 2.16e-3, 1);
  const auto far = model.throughput_interval(1024);
  EXPECT_LT(far.low, 1024 / (2e-3 + 1024e-5));
  EXPECT_GT(far.high, 1024 / (2e-3 + 1024e-5));
}

TEST(StepModel, RatioKnowsWhatIsCommon) {
  const StepModel model(line(0, 1e-5, {64, 4096}, 0.05));
  const auto apart = summary(model.throughput(1000)).deviation;
  const auto together = summary(model.ratio(1000, 4096)).deviation;
  EXPECT_LT(together, apart);
  EXPECT_NEAR(summary(model.ratio(64, 64)).deviation, 0, 1e-6);
}

TEST(Possibilities, ByHand) {
  const std::vector<Possibility> two = {{0.5, -1, 0}, {0.5, 1, 0}};
  EXPECT_DOUBLE_EQ(summary(two).mean, 0);
  EXPECT_DOUBLE_EQ(summary(two).deviation, 1);
  EXPECT_DOUBLE_EQ(probability_above(two, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(expected_excess(two, 0.5), 0.25);
  const std::vector<Possibility> normal = {{1, 0, 2}};
  EXPECT_NEAR(expected_excess(normal, 0), 2 * 0.3989423, 1e-6);
  EXPECT_DOUBLE_EQ(probability_above(normal, 0), 0.5);
}

}  // namespace
}  // namespace sweetspot::stats
