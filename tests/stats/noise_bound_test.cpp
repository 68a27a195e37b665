#include "stats/noise_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace sweetspot::stats {
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
  double early = 0, late = 0;
  constexpr int seeds = 20;
  for (int seed = 0; seed < seeds; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    NoiseBound bound;
    for (int i = 0; i < 10; ++i) bound.add(observed(random));
    early += bound.at_least().value_or(0) / seeds;
    for (int i = 0; i < 390; ++i) bound.add(observed(random));
    late += bound.at_least().value_or(0) / seeds;
    above += bound.at_least().value_or(0) > 400;
  }
  EXPECT_LE(above, 4) << "5% of 20 are expected";
  EXPECT_GT(early, 16) << "soon it is known to be larger than the batch";
  EXPECT_GT(late, early);
  EXPECT_GT(late, 100);
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
}  // namespace sweetspot::stats
