#include "convergence/noise_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace sweetspot::convergence {
namespace {

// Gradients with a known mean and a known variance in each of a few directions.
class Gradients {
 public:
  explicit Gradients(unsigned seed) : random_(seed) {}

  double gradient_squared = 4;
  double trace = 200;  // noise scale 50

  GradientNorms norms(int small, int big) {
    double sums[2][directions] = {};
    for (int i = 0; i < big; ++i)
      for (int d = 0; d < directions; ++d) {
        const double value = std::sqrt(gradient_squared / directions) +
                             std::sqrt(trace / directions) * normal_(random_);
        if (i < small) sums[0][d] += value / small;
        sums[1][d] += value / big;
      }
    GradientNorms norms{static_cast<double>(small), 0, static_cast<double>(big), 0};
    for (int d = 0; d < directions; ++d) {
      norms.small_squared += sums[0][d] * sums[0][d];
      norms.big_squared += sums[1][d] * sums[1][d];
    }
    return norms;
  }

 private:
  static constexpr int directions = 20;
  std::mt19937 random_;
  std::normal_distribution<> normal_;
};

TEST(GradientMoments, AreExactForExpectedNorms) {
  // E|G_B|² = |G|² + tr(Σ)/B.
  const auto moments = gradient_moments({8, 4 + 200. / 8, 64, 4 + 200. / 64});
  ASSERT_TRUE(moments);
  EXPECT_NEAR(moments->gradient_squared, 4, 1e-12);
  EXPECT_NEAR(moments->trace, 200, 1e-10);
}

TEST(GradientMoments, AreNotToldFromOneSizeOrFromNoNumber) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(gradient_moments({8, 1, 8, 1}));
  EXPECT_FALSE(gradient_moments({0, 1, 8, 1}));
  EXPECT_FALSE(gradient_moments({4, nan, 8, 1}));
  EXPECT_FALSE(gradient_moments({4, std::numeric_limits<double>::infinity(), 8, 1}));
  NoiseScale scale;
  scale.add({4, nan, 8, 1});
  EXPECT_FALSE(scale.estimate());
}

TEST(NoiseScale, IntervalsHoldTheTruthAboutAsOftenAsTheySay) {
  int held = 0;
  constexpr int runs = 200;
  for (unsigned seed = 0; seed < runs; ++seed) {
    Gradients gradients(seed);
    NoiseScale scale(1);
    for (int step = 0; step < 60; ++step) scale.add(gradients.norms(8, 64));
    const auto estimate = scale.estimate();
    ASSERT_TRUE(estimate && estimate->samples);
    EXPECT_DOUBLE_EQ(estimate->observations, 60);
    held += estimate->samples->low <= 50 && 50 <= estimate->samples->high;
  }
  EXPECT_GE(held, runs * 0.89);
  EXPECT_LT(held, runs);
}

TEST(NoiseScale, IsUnknownWhileTheGradientIsLostInItsNoise) {
  Gradients gradients(1);
  gradients.gradient_squared = 0;
  NoiseScale scale;
  EXPECT_FALSE(scale.estimate());
  scale.add(gradients.norms(4, 16));
  ASSERT_TRUE(scale.estimate());
  EXPECT_FALSE(scale.estimate()->samples);  // one observation has no variance
  for (int step = 0; step < 50; ++step) scale.add(gradients.norms(4, 16));
  EXPECT_FALSE(scale.estimate()->samples);
  EXPECT_NEAR(scale.estimate()->trace, 200, 60);
}

// Far below the noise scale the interval has no upper end, and a lower bound is below the truth as
// often as it says.
TEST(NoiseScale, HasALowerBoundWhileTheGradientIsLostInItsNoise) {
  int bounded = 0, held = 0;
  constexpr int runs = 400;
  for (unsigned seed = 0; seed < runs; ++seed) {
    Gradients gradients(seed);
    NoiseScale scale(1);
    for (int step = 0; step < 6; ++step) scale.add(gradients.norms(2, 16));
    const auto estimate = scale.estimate();
    ASSERT_TRUE(estimate);
    EXPECT_FALSE(estimate->samples && estimate->at_least);
    if (estimate->samples) {
      held += estimate->samples->low <= 50 && 50 <= estimate->samples->high;
    } else if (estimate->at_least) {
      EXPECT_GT(*estimate->at_least, 0);
      ++bounded, held += *estimate->at_least <= 50;
    } else {
      ++held;  // any number
    }
  }
  EXPECT_GT(bounded, runs / 2);
  EXPECT_GE(held, runs * 0.92);
}

TEST(NoiseScale, FollowsAChangeAndForgetsWhatWasBefore) {
  Gradients gradients(3);
  NoiseScale following(0.9), mean(1);
  const auto add = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      const GradientNorms norms = gradients.norms(8, 128);
      following.add(norms), mean.add(norms);
    }
  };
  add(50);
  gradients.trace = 2000;
  add(100);
  EXPECT_NEAR(following.estimate()->trace, 2000, 400);
  EXPECT_LT(mean.estimate()->trace, 1600);
  EXPECT_NEAR(following.estimate()->observations, 19, 0.1);  // (1 + d) / (1 − d)
}

TEST(NoiseScale, FirstStepsOfATrainingSoonCountForLittle) {
  Gradients gradients(4);
  NoiseScale scale;
  for (const double squared : {400, 40}) {
    gradients.gradient_squared = squared;
    scale.add(gradients.norms(64, 512));
  }
  gradients.gradient_squared = 4;
  for (int step = 0; step < 11; ++step) scale.add(gradients.norms(64, 512));
  ASSERT_TRUE(scale.estimate()->samples);
  EXPECT_NEAR(scale.estimate()->gradient_squared, 4, 1);  // the plain mean is 37
  EXPECT_GT(scale.estimate()->observations, 6);
}

TEST(NoiseScale, IntervalsHoldTheTruthWhereObservationsFade) {
  int held = 0;
  constexpr int runs = 200;
  for (unsigned seed = 0; seed < runs; ++seed) {
    Gradients gradients(seed);
    NoiseScale scale;
    for (int step = 0; step < 12; ++step) scale.add(gradients.norms(64, 256));
    const auto estimate = scale.estimate();
    ASSERT_TRUE(estimate && estimate->samples);
    held += estimate->samples->low <= 50 && 50 <= estimate->samples->high;
  }
  EXPECT_GE(held, runs * 0.89);
  EXPECT_LT(held, runs);
}

TEST(NoiseScale, FirstObservationIsNotDrawnToZero) {
  NoiseScale scale(0.99);
  scale.add({1, 204, 100, 6});
  EXPECT_DOUBLE_EQ(scale.estimate()->trace, 200);
  EXPECT_DOUBLE_EQ(scale.estimate()->gradient_squared, 4);
}

TEST(NoiseScale, OfASampleWithoutNoiseIsZero) {
  NoiseScale scale;
  for (int step = 0; step < 8; ++step) scale.add({1, 4, 100, 4});
  ASSERT_TRUE(scale.estimate()->samples);
  EXPECT_EQ(scale.estimate()->samples->mean, 0);
  EXPECT_EQ(scale.estimate()->samples->high, 0);
}

}  // namespace
}  // namespace sweetspot::convergence
