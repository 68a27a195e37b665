#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/made.h"
#include "words.h"

namespace sweetspot::advise {
namespace {

using convergence::LearningRateRule;
using testing::Contains;
using testing::Not;

const std::vector<std::int64_t> three_sizes{128, 1024, 8192};

Facts facts_with(const trial::GradientNoise& noise) {
  Facts facts;
  facts.limits.max = 60000;
  facts.noise = noise;
  facts.rate_base = LearningRateBase{0.001, 128, true, std::nullopt};
  return facts;
}

Recommendation made(const Facts& facts, std::int64_t chosen = 8192) {
  return *recommend(tests::made_trials(three_sizes, 0.002, 1e-6),
                    tests::made_decision(three_sizes, 0.002, 1e-6, chosen), facts);
}

trial::GradientNoise noise_of(double start, double later) {
  return {core::Interval{start, 0.8 * start, 1.2 * start},
          core::Interval{later, 0.8 * later, 1.2 * later}, 0.4};
}

TEST(Noise, ABatchFarBeyondItIsWarnedOfInTheFirstSentence) {
  const Recommendation far = made(facts_with(noise_of(50, 410)));
  EXPECT_EQ(times_noise_scale(far), 8192. / 410);
  EXPECT_WORDS(sentence(far));
  EXPECT_THAT(far.reasons, Contains(Reason::noise));
  EXPECT_WORDS(words(Reason::noise, far));
}

TEST(Noise, ABatchNearItOrOneThatMayBeIsNot) {
  EXPECT_FALSE(times_noise_scale(made(facts_with(noise_of(50, 5000)))));
  trial::GradientNoise wide = noise_of(50, 410);
  wide.later->high = 9000;
  EXPECT_FALSE(times_noise_scale(made(facts_with(wide))));
  EXPECT_FALSE(times_noise_scale(made(facts_with(noise_of(50, 410)), 1024)));
}

TEST(Noise, ThatIsNotKnownIsNotTalkedOf) {
  const Recommendation unknown = made(facts_with({}));
  EXPECT_FALSE(times_noise_scale(unknown));
  EXPECT_THAT(unknown.reasons, Not(Contains(Reason::noise)));
  EXPECT_EQ(unknown.learning_rate->rule, LearningRateRule::square_root);
  EXPECT_EQ(unknown.setting.learning_rate, 0.008);
}

TEST(Noise, OfAProgramIsThatOfItsTrial) {
  auto trials = tests::made_trials(three_sizes, 0.002, 1e-6);
  for (trial::Trial& trial : trials) trial.noise_scale = {100, 90, 110};
  Facts facts;
  facts.limits.max = 60000;
  const auto found = recommend(trials, tests::made_decision(three_sizes, 0.002, 1e-6, 1024), facts);
  EXPECT_EQ(found->noise->start->mean, 100);
  EXPECT_NEAR(times_noise_scale(*found).value(), 10.24, 1e-9);
  EXPECT_FALSE(found->learning_rate);
}

TEST(LearningRateOfAnAnswer, IsByTheNoiseAfterSomeTrainingAndSaysSo) {
  const Recommendation found = made(facts_with(noise_of(50, 1024)), 1024);
  ASSERT_TRUE(found.learning_rate);
  EXPECT_EQ(found.learning_rate->rule, LearningRateRule::surge);
  EXPECT_EQ(found.learning_rate->noise_scale, 1024);
  EXPECT_GT(found.setting.learning_rate, 0.001);
  EXPECT_LT(found.setting.learning_rate, 0.0029);  // the square root's
  EXPECT_WORDS(words(Reason::learning_rate, found));
}

TEST(LearningRateOfAnAnswer, IsTheGivenOneAtItsOwnBatchAndWhereNoRuleIsWanted) {
  EXPECT_EQ(made(facts_with(noise_of(50, 410)), 128).setting.learning_rate, 0.001);
  Facts facts = facts_with(noise_of(50, 410));
  facts.rate_base->rule = LearningRateRule::none;
  facts.rate_base->rate = 0.00123;
  EXPECT_EQ(made(facts).setting.learning_rate, 0.00123);
}

TEST(LearningRateOfAnAnswer, IsAnotherWhereShortRunsAreClearlyForIt) {
  Facts facts = facts_with({});
  facts.tried_rates = {{0.004, 50, 0.5}, {0.008, 50, 0.6}, {0.016, 17, std::nullopt}};
  const Recommendation found = made(facts);
  EXPECT_EQ(found.learning_rate->by_rule, 0.008);
  EXPECT_EQ(found.setting.learning_rate, 0.004);
  EXPECT_WORDS(words(Reason::learning_rate, found));
  facts.tried_rates[0].loss = 0.59;  // about the same
  EXPECT_EQ(made(facts).setting.learning_rate, 0.008);
  for (trial::RateRun& run : facts.tried_rates) run.loss.reset();
  EXPECT_EQ(made(facts).setting.learning_rate, 0.008);
  EXPECT_WORDS(words(Reason::learning_rate, made(facts)));
}

}  // namespace
}  // namespace sweetspot::advise
