#include "model/initialize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace sweetspot::model {
namespace {

using Kind = Initializer::Kind;
using Mode = Initializer::Mode;
using Distribution = Initializer::Distribution;

constexpr std::int64_t count = 200'000;

Parameter parameter_with(const Initializer& initializer) {
  return {"p", 0, {count}, initializer, true, 300, 100};
}

std::vector<float> values_of(const Parameter& parameter, std::uint32_t index = 0,
                             std::uint64_t seed = 1000) {
  std::vector<float> values(static_cast<std::size_t>(parameter.size()));
  initialize(parameter, index, seed, values);
  return values;
}

struct Moments {
  double mean = 0, stddev = 0, least = 0, most = 0;
};
Moments moments_of(const std::vector<float>& values) {
  Moments moments;
  for (const float value : values) moments.mean += value;
  moments.mean /= static_cast<double>(values.size());
  for (const float value : values) moments.stddev += std::pow(value - moments.mean, 2);
  moments.stddev = std::sqrt(moments.stddev / static_cast<double>(values.size()));
  moments.least = *std::ranges::min_element(values);
  moments.most = *std::ranges::max_element(values);
  return moments;
}

// Five standard errors of the mean, and a generous share of the deviation: the seed is fixed, so
// the result never changes.
void expect_moments(const Moments& got, double mean, double stddev) {
  EXPECT_NEAR(got.mean, mean, 5 * stddev / std::sqrt(count));
  EXPECT_NEAR(got.stddev, stddev, 0.01 * stddev);
}

TEST(Initialize, FillsConstants) {
  Initializer ones;
  ones.kind = Kind::ones;
  EXPECT_EQ(values_of(parameter_with(ones)), std::vector<float>(count, 1.0f));
  EXPECT_EQ(values_of(parameter_with({})), std::vector<float>(count, 0.0f));
}

TEST(Initialize, DrawsRandomNormal) {
  Initializer normal;
  normal.kind = Kind::random_normal;
  normal.mean = 0.5;
  const Moments got = moments_of(values_of(parameter_with(normal)));
  expect_moments(got, 0.5, 0.05);
  EXPECT_GT(got.most, 0.5 + 3 * 0.05);  // nothing is truncated
}

TEST(Initialize, CutsTruncatedNormalAtTwoSigmas) {
  Initializer truncated;
  truncated.kind = Kind::truncated_normal;
  truncated.mean = -1;
  truncated.stddev = 0.1;
  const Moments got = moments_of(values_of(parameter_with(truncated)));
  expect_moments(got, -1, 0.1 * 0.87962566103423978);
  EXPECT_GE(got.least, -1.2f - 1e-6f);
  EXPECT_LE(got.most, -0.8f + 1e-6f);
  EXPECT_LT(got.least, -1.199);
  EXPECT_GT(got.most, -0.801);
}

TEST(Initialize, DrawsRandomUniform) {
  Initializer uniform;
  uniform.kind = Kind::random_uniform;
  uniform.low = -1;
  uniform.high = 3;
  const Moments got = moments_of(values_of(parameter_with(uniform)));
  expect_moments(got, 1, 4 / std::sqrt(12));
  EXPECT_GE(got.least, -1);
  EXPECT_LE(got.most, 3);
}

// Keras' contract: for any distribution, the variance is scale / fan.
TEST(Initialize, ScalesTheVarianceByTheFan) {
  for (const auto& [mode, fan] : {std::pair{Mode::fan_in, 300.0}, std::pair{Mode::fan_out, 100.0},
                                  std::pair{Mode::fan_avg, 200.0}})
    for (const Distribution distribution :
         {Distribution::normal, Distribution::truncated_normal, Distribution::uniform}) {
      Initializer scaling;
      scaling.kind = Kind::variance_scaling;
      scaling.scale = 2;
      scaling.mode = mode;
      scaling.distribution = distribution;
      const Moments got = moments_of(values_of(parameter_with(scaling)));
      expect_moments(got, 0, std::sqrt(2 / fan));
      if (distribution == Distribution::truncated_normal) {
        EXPECT_LE(got.most, 2 * std::sqrt(2 / fan) / 0.8796 + 1e-6);
      }
      if (distribution == Distribution::uniform) {
        EXPECT_LE(got.most, std::sqrt(6 / fan) + 1e-6);
      }
    }
}

TEST(Initialize, DependsOnSeedAndParameterAlone) {
  Initializer truncated;
  truncated.kind = Kind::truncated_normal;
  const Parameter parameter = parameter_with(truncated);
  const std::vector<float> values = values_of(parameter, 3, 7);
  EXPECT_EQ(values, values_of(parameter, 3, 7));
  EXPECT_NE(values, values_of(parameter, 4, 7));
  EXPECT_NE(values, values_of(parameter, 3, 8));
  Parameter shorter = parameter;
  shorter.shape = {1000};  // an element's value does not depend on how many follow it
  EXPECT_EQ(values_of(shorter, 3, 7), std::vector<float>(values.begin(), values.begin() + 1000));
}

}  // namespace
}  // namespace sweetspot::model
