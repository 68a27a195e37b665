#include "stats/batch_means.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stats/series.h"

namespace sweetspot::stats {
namespace {

// Steps of one sample: the interval of the rate is that of the seconds, turned round.
std::optional<Interval> rate(const std::vector<double>& seconds) {
  return throughput_interval(seconds, std::vector<std::int64_t>(seconds.size(), 1));
}

TEST(Throughput, EightStepsByHand) {
  // Mean 4.5, variance 6, se = √(6/8); alternating, so that no correlation widens it.
  const auto interval = rate({1, 8, 2, 7, 3, 6, 4, 5});
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->mean, 1 / 4.5);
  EXPECT_NEAR(std::log(interval->high / interval->mean), 2.36462 * std::sqrt(6.0 / 8) / 4.5, 1e-4);
  EXPECT_NEAR(std::log(interval->mean / interval->low), 2.36462 * std::sqrt(6.0 / 8) / 4.5, 1e-4);
}

TEST(Throughput, FewerStepsByHand) {
  // Mean 2, variance 1, se = √(1/3).
  const auto interval = rate({1, 2, 3});
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->mean, 0.5);
  EXPECT_NEAR(interval->high / interval->mean, 1 + 4.30265 * std::sqrt(1.0 / 3) / 2, 1e-4);
  EXPECT_NEAR(interval->mean / interval->low, 1 + 4.30265 * std::sqrt(1.0 / 3) / 2, 1e-4);
}

TEST(Throughput, EveryStepCounts) {
  std::vector<double> seconds(41, 1.0);
  seconds.back() = 42;
  EXPECT_DOUBLE_EQ(rate(seconds)->mean, 0.5);
}

double coverage(double correlation, std::size_t count) {
  constexpr int runs = 400;
  int covered = 0;
  for (std::uint32_t run = 0; run < runs; ++run) {
    const auto interval = rate(correlated_series(run, count, 10, 0.05, correlation));
    covered += interval->low <= 0.1 && 0.1 <= interval->high;
  }
  return covered / double{runs};
}

TEST(Throughput, CoversTheTruthAsOftenAsItSays) {
  EXPECT_NEAR(coverage(0, 20), 0.95, 0.03);
  EXPECT_NEAR(coverage(0, 200), 0.95, 0.03);
  EXPECT_NEAR(coverage(0.5, 200), 0.94, 0.03);
  EXPECT_NEAR(coverage(0.8, 400), 0.93, 0.04);
}

TEST(Throughput, IsTotalSamplesByTotalSeconds) {
  // 100 samples in 1 s and in 3 s: 50 a second, where a mean of rates would say 67.
  std::vector<double> seconds(16, 1.0);
  for (std::size_t i = 0; i < 16; i += 2) seconds[i] = 3;
  const auto interval = throughput_interval(seconds, std::vector<std::int64_t>(16, 100));
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->mean, 50);
}

TEST(Throughput, StepsWithoutNoiseHaveNoWidth) {
  const auto interval =
      throughput_interval(std::vector<double>(20, 0.5), std::vector<std::int64_t>(20, 64));
  EXPECT_DOUBLE_EQ(interval->low, 128);
  EXPECT_DOUBLE_EQ(interval->high, 128);
}

TEST(Throughput, LowEndIsPositiveUnderAnyNoise) {
  std::vector<double> seconds(16, 1.0);
  seconds[3] = 1000;
  const auto interval = throughput_interval(seconds, std::vector<std::int64_t>(16, 1));
  EXPECT_GT(interval->low, 0);
  EXPECT_GT(interval->high, interval->mean);
}

TEST(Throughput, NoTimeOrNoSamplesGiveNoAnswer) {
  EXPECT_FALSE(throughput_interval(std::vector<double>(9, 0.0), std::vector<std::int64_t>(9, 1)));
  EXPECT_FALSE(throughput_interval(std::vector<double>(9, 1.0), std::vector<std::int64_t>(9, 0)));
  EXPECT_FALSE(throughput_interval(std::vector<double>(1, 1.0), std::vector<std::int64_t>(1, 1)));
}

bool floor_reached(std::span<const double> seconds) {
  return at_noise_floor(seconds, std::vector<std::int64_t>(seconds.size(), 32));
}

TEST(NoiseFloor, IndependentNoiseHasNone) {
  int wrong = 0;
  for (std::uint32_t run = 0; run < 200; ++run)
    wrong += floor_reached(correlated_series(run, 512, 1, 0.05, 0));
  EXPECT_LE(wrong, 6);
}

TEST(NoiseFloor, DriftReachesIt) {
  int found = 0;
  for (std::uint32_t run = 0; run < 200; ++run) {
    std::vector<double> seconds = correlated_series(run, 512, 1, 0.02, 0);
    for (std::size_t i = 0; i < seconds.size(); ++i)
      seconds[i] *= 1 + 0.2 * static_cast<double>(i) / 512;
    found += floor_reached(seconds);
  }
  EXPECT_GE(found, 190);
}

TEST(NoiseFloor, NeedsEnoughSteps) {
  std::vector<double> seconds(127);
  for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] = 1 + static_cast<double>(i);
  EXPECT_FALSE(floor_reached(seconds));
}

}  // namespace
}  // namespace sweetspot::stats
