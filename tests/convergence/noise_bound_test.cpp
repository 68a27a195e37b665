#include "convergence/noise_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "stats/quantile.h"

namespace sweetspot::convergence {
namespace {

// Gradients over two and sixteen samples, in 50 dimensions, of noise scale 400: |G|² = 1.
GradientNorms observed(std::mt19937& random) {
  constexpr int dimensions = 50;
  const double deviation = std::sqrt(400.0 / dimensions);  // of a single sample
  std::normal_distribution<double> normal;
  double small = 0, big = 0;
  for (int d = 0; d < dimensions; ++d) {
    const double gradient = d == 0 ? 1 : 0;
    const double two = gradient + deviation / std::sqrt(2.0) * normal(random);
    const double others = gradient + deviation / std::sqrt(14.0) * normal(random);
    const double all = (2 * two + 14 * others) / 16;
    small += two * two, big += all * all;
  }
  return {2, small, 16, big};
}

TEST(NoiseBound, IsBelowTheNoiseScaleAndRisesToIt) {
  int above = 0;
  std::vector<double> early, late;
  for (unsigned seed = 0; seed < 21; ++seed) {
    std::mt19937 random(seed);
    NoiseBound bound;
    for (int i = 0; i < 8; ++i) bound.add(observed(random));
    early.push_back(bound.at_least().value_or(0));
    for (int i = 0; i < 56; ++i) bound.add(observed(random));
    late.push_back(bound.at_least().value_or(0));
    above += late.back() > 400;
  }
  EXPECT_LE(above, 8) << "a sixth of 21 is expected";
  EXPECT_GT(*stats::median(early), 16) << "soon it is known to be larger than the batch";
  EXPECT_GT(*stats::median(late), *stats::median(early));
}

TEST(NoiseBound, ForgetsWhatIsLongPast) {
  NoiseBound bound;
  for (int i = 0; i < 100; ++i) bound.add({4, 1 + 10.0 / 4, 64, 1 + 10.0 / 64});
  for (int i = 0; i < 64; ++i) bound.add({4, 1 + 500.0 / 4, 64, 1 + 500.0 / 64});
  EXPECT_NEAR(bound.at_least().value(), 500, 1e-6);
}

TEST(NoiseBound, IsUnknownAtFirst) {
  NoiseBound bound;
  EXPECT_FALSE(bound.at_least());
  for (int i = 0; i < 8; ++i) bound.add({4, 1 + 100.0 / 4, 64, 1 + 100.0 / 64});
  ASSERT_TRUE(bound.at_least());
  EXPECT_NEAR(*bound.at_least(), 100, 1e-6);
  bound.reset();
  EXPECT_FALSE(bound.at_least());
}

}  // namespace
}  // namespace sweetspot::convergence
