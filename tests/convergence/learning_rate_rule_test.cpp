#include "convergence/learning_rate_rule.h"

#include <gtest/gtest.h>

namespace sweetspot::convergence {
namespace {

using enum LearningRateRule;

constexpr LearningRateRule all_rules[] = {none, linear, square_root, adascale, surge};

double rate(LearningRateRule rule, double batch, std::optional<double> noise) {
  return learning_rate(rule, 0.01, 32, batch, noise);
}

TEST(LearningRate, IsTheBaseRateAtTheBaseBatch) {
  for (const LearningRateRule rule : all_rules)
    for (const std::optional<double> noise : {std::optional<double>(), {5.}, {32.}, {4000.}})
      EXPECT_NEAR(rate(rule, 32, noise), 0.01, 1e-15) << name(rule);
}

TEST(LearningRate, FollowsTheBatchWhereTheNoiseIsUnknown) {
  EXPECT_DOUBLE_EQ(rate(none, 512, {}), 0.01);
  EXPECT_DOUBLE_EQ(rate(linear, 512, {}), 0.16);
  EXPECT_DOUBLE_EQ(rate(linear, 8, {}), 0.0025);
  EXPECT_DOUBLE_EQ(rate(square_root, 512, {}), 0.04);
  EXPECT_DOUBLE_EQ(rate(adascale, 512, {}), rate(linear, 512, {}));
  EXPECT_DOUBLE_EQ(rate(surge, 512, {}), rate(square_root, 512, {}));
  EXPECT_DOUBLE_EQ(rate(surge, 512, 0.), rate(square_root, 512, {}));
}

TEST(LearningRate, OfSgdIsLinearBelowTheNoiseScaleAndFlatBeyond) {
  EXPECT_DOUBLE_EQ(rate(linear, 128, 256.), 0.04);
  EXPECT_DOUBLE_EQ(rate(linear, 1024, 256.), 0.08);
  EXPECT_DOUBLE_EQ(rate(linear, 1024, 4.), 0.01);  // the base batch is beyond it already
  EXPECT_NEAR(rate(adascale, 64, 1e9), 0.02, 1e-8);
  EXPECT_NEAR(rate(adascale, 1e9, 96.), 0.01 * (1 + 96. / 32), 1e-6);  // no more than this
  EXPECT_NEAR(rate(adascale, 96, 96.), 0.02, 1e-12);
}

TEST(LearningRate, OfAdamRisesToTheNoiseScaleAndFallsBeyond) {
  EXPECT_NEAR(rate(surge, 128, 1e9), 0.02, 1e-6);
  EXPECT_GT(rate(surge, 512, 512.), rate(surge, 256, 512.));
  EXPECT_GT(rate(surge, 512, 512.), rate(surge, 1024, 512.));
  EXPECT_NEAR(rate(surge, 256, 512.), rate(surge, 1024, 512.), 1e-15);  // the same on both sides
}

TEST(LearningRateRule, DefaultIsByOptimizerAndNoise) {
  EXPECT_EQ(default_rule(true, true), surge);
  EXPECT_EQ(default_rule(true, false), square_root);
  EXPECT_EQ(default_rule(false, true), adascale);
  EXPECT_EQ(default_rule(false, false), linear);
}

TEST(LearningRateRule, IsFoundByItsName) {
  for (const LearningRateRule rule : all_rules) EXPECT_EQ(learning_rate_rule(name(rule)), rule);
  EXPECT_FALSE(learning_rate_rule("cubic"));
}

}  // namespace
}  // namespace sweetspot::convergence
