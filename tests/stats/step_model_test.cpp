#include "stats/step_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stats/experiment.h"
#include "stats/moments.h"
#include "stats/quantile.h"

namespace sweetspot::stats {
namespace {

// A program of exactly this cost, each batch measured independently with this deviation.
StepTimes line(double fixed, double per_sample, std::vector<std::int64_t> batches,
               double deviation = 0.003) {
  StepTimes times;
  times.batches = std::move(batches);
  const std::size_t n = times.batches.size();
  times.covariance.assign(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    times.log_seconds.push_back(
        std::log(fixed + per_sample * static_cast<double>(times.batches[i])));
    times.covariance[i * n + i] = square(deviation);
  }
  return times;
}

double log_speed(double fixed, double per_sample, double batch) {
  return std::log(batch / (fixed + per_sample * batch));
}

// Mean and deviation over curves of the log speed at a batch, or of a ratio of two.
struct Spread {
  double mean = 0, deviation = 0;
};
Spread over_curves(const StepModel& model, std::int64_t batch, std::int64_t by = 0) {
  std::vector<std::int64_t> batches = {batch};
  if (by > 0) batches.insert(by < batch ? batches.begin() : batches.end(), by);
  const auto place = [&](std::int64_t of) {
    return static_cast<std::size_t>(std::ranges::find(batches, of) - batches.begin());
  };
  Moments moments;
  for (const std::vector<double>& curve : model.curves(batches, 400))
    moments.add(curve[place(batch)] - (by > 0 ? curve[place(by)] : 0));
  return {moments.mean(), std::sqrt(*moments.variance())};
}

TEST(StepModel, FollowsTheLineBetweenWhatWasMeasured) {
  const StepModel model(line(2e-3, 2e-5, {1, 16, 128, 1024, 4096}, 0.001));
  const Spread between = over_curves(model, 512);
  EXPECT_NEAR(between.mean, log_speed(2e-3, 2e-5, 512), 0.01);
  EXPECT_GT(between.deviation, 0);
}

TEST(StepModel, CurvesPassThroughWhatWasMeasured) {
  StepTimes times = line(2e-3, 1e-5, {8, 64, 256, 512, 4096});
  times.log_seconds[2] += std::log(1.3);  // a cliff up and one down, or a bad size
  const StepModel model(times);
  for (std::size_t i = 0; i < times.batches.size(); ++i) {
    const double batch = static_cast<double>(times.batches[i]);
    const Spread here = over_curves(model, times.batches[i]);
    EXPECT_NEAR(here.mean, std::log(batch) - times.log_seconds[i], 0.002) << batch;
    EXPECT_LT(here.deviation, 1.2 * 0.003) << batch;
    EXPECT_GT(here.deviation, 0.5 * 0.003) << batch;
  }
}

// What the machine did to everything measured together shifts whole curves.
TEST(StepModel, AnErrorInCommonMovesCurvesUpAndDownTogether) {
  StepTimes times = line(2e-3, 1e-5, {8, 64, 512, 4096}, 0.002);
  const StepModel apart(times);
  for (double& entry : times.covariance) entry += square(0.1);
  const StepModel together(times);
  EXPECT_NEAR(over_curves(together, 512).deviation, 0.1, 0.02);
  EXPECT_LT(over_curves(together, 512, 4096).deviation,
            1.5 * over_curves(apart, 512, 4096).deviation);
  // The same deviations without correlation leave the ratio open.
  const StepModel unsure(line(2e-3, 1e-5, {8, 64, 512, 4096}, 0.1));
  EXPECT_GT(over_curves(unsure, 512, 4096).deviation,
            5 * over_curves(together, 512, 4096).deviation);
}

TEST(StepModel, ACliffMovesItsNeighboursToo) {
  StepTimes times = line(2e-3, 1e-5, {8, 64, 512, 4096});
  times.log_seconds[3] += std::log(1.5);
  const Spread beyond = over_curves(StepModel(times), 6144);
  EXPECT_NEAR(beyond.mean, log_speed(2e-3, 1e-5, 6144) - std::log(1.5), 0.06);
}

TEST(StepModel, UncertaintyGrowsWithTheDistanceAndWithRoughness) {
  const StepModel smooth(line(2e-3, 1e-5, {8, 64, 4096}));
  EXPECT_LT(over_curves(smooth, 64).deviation, over_curves(smooth, 96).deviation);
  EXPECT_LT(over_curves(smooth, 96).deviation, over_curves(smooth, 512).deviation);
  StepTimes rough = line(2e-3, 1e-5, {8, 64, 4096});
  rough.log_seconds[1] += std::log(1.4);
  EXPECT_GT(over_curves(StepModel(rough), 512).deviation, 1.5 * over_curves(smooth, 512).deviation);
}

TEST(StepModel, NoisyMeasurementsBorrowFromTheLine) {
  StepTimes times = line(2e-3, 1e-5, {8, 32, 128, 512, 2048});
  times.log_seconds[3] += 0.1;
  times.covariance[3 * 5 + 3] = square(0.1);
  EXPECT_NEAR(over_curves(StepModel(times), 512).mean, log_speed(2e-3, 1e-5, 512), 0.03);
}

// Flat up to batch 250: a sum of costs would take 256 for a fifth slower than it is.
TEST(StepModel, CostsThatOverlapAreNoSum) {
  StepTimes times = line(1, 0, {1, 4, 16, 64, 256, 512, 1024, 2048, 4096}, 0.1);
  for (std::size_t i = 0; i < times.batches.size(); ++i)
    times.log_seconds[i] = std::log(std::max(0.010, 40e-6 * static_cast<double>(times.batches[i])));
  EXPECT_GT(over_curves(StepModel(times), 256, 4096).mean, std::log(0.95));
}

TEST(StepModel, OnePointIsEnoughToBegin) {
  const StepModel model(line(2e-3, 1e-5, {16}));
  EXPECT_NEAR(over_curves(model, 16).mean, log_speed(2e-3, 1e-5, 16), 0.003);
  // Anything between "all of it is fixed" and "none is", with large uncertainty.
  const Spread far = over_curves(model, 1024);
  EXPECT_GT(far.mean + 2 * far.deviation, log_speed(2.16e-3, 0, 1024) - std::log(2));
  EXPECT_LT(far.mean - 2 * far.deviation, log_speed(0, 2.16e-3 / 16, 1024) + std::log(2));
  EXPECT_GT(far.deviation, 0.5);
}

TEST(StepModel, TheSameMeasurementsGiveTheSameCurves) {
  const std::vector<std::int64_t> batches = {8, 100, 1000};
  const StepTimes times = line(2e-3, 1e-5, {8, 64, 4096});
  EXPECT_EQ(StepModel(times).curves(batches, 50), StepModel(times).curves(batches, 50));
  EXPECT_EQ(StepModel(times).curves(batches, 50).size(), 50u);
}

// As estimated by a bootstrap over few rounds: rank-deficient, or zero.
TEST(StepModel, ASingularCovarianceGivesNumbers) {
  const std::vector<std::int64_t> batches = {8, 100, 1000, 4096};
  StepTimes times = line(2e-3, 1e-5, {8, 64, 512, 4096}, 0);
  for (const double shared : {0.0, 0.01}) {
    for (double& entry : times.covariance) entry = shared;
    const StepModel model(times);
    for (const auto& curve : model.curves(batches, 100))
      for (const double each : curve) ASSERT_TRUE(std::isfinite(each)) << shared;
  }
}

}  // namespace
}  // namespace sweetspot::stats
