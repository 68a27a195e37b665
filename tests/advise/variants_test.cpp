// Answers on several curves: precisions and power limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/advise.h"
#include "advise/answer.h"
#include "advise/made.h"
#include "words.h"

namespace sweetspot::advise {
namespace {

using testing::Contains;
using testing::Not;

const std::vector<std::int64_t> sizes{16, 64, 256, 1024};

// The answer on a curve whose steps take so many times 1 ms + 0.1 ms a sample, at this power.
Recommendation on_curve(double slower, std::int64_t chosen, std::optional<double> watts = {},
                        search::Objective objective = search::Objective::throughput,
                        double best_elsewhere = 0) {
  std::vector<trial::Trial> trials = tests::made_trials(sizes, 1e-3 * slower, 1e-4 * slower);
  search::Decision decision = tests::made_decision(sizes, 1e-3 * slower, 1e-4 * slower, chosen);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trials[i].setting.configuration.power_limit_watts = watts;
    if (!watts) continue;
    const double joules = *watts / decision.speeds[i].samples_per_second.mean;
    trials[i].energy_samples = 1000, trials[i].energy_joules = 1000 * joules;
    decision.speeds[i].joules_per_sample = {joules, 0.99 * joules, 1.01 * joules};
    const double best = std::max(decision.speeds.back().samples_per_second.mean, best_elsewhere);
    decision.speeds[i].within_tolerance =
        decision.speeds[i].samples_per_second.mean >= 0.9 * best ? 1 : 0;
  }
  Facts facts;
  facts.limits.objective = objective, facts.limits.tolerance = 0.1;
  if (best_elsewhere > 0) facts.limits.best_elsewhere = best_elsewhere;
  return *recommend(trials, decision, facts);
}

Recommendation in_precision(const std::string& precision, double slower, std::int64_t chosen) {
  Recommendation made = on_curve(slower, chosen);
  made.setting.configuration.precision = precision;
  return made;
}

std::string all_words(const Recommendation& made) {
  std::string text;
  for (const std::string& each : reasons_in_words(made)) text += each + "\n";
  return text;
}

TEST(BestVariant, OfOneCurveIsThat) {
  const Recommendation one = on_curve(1, 256);
  EXPECT_EQ(best_variant({one}, {}), one);
  EXPECT_TRUE(best_variant({one}, {}).variants.empty());
}

TEST(BestVariant, OfPrecisionsIsTheFasterAndTheFirstAmongEquals) {
  const Recommendation made =
      best_variant({in_precision("fp32", 2, 64), in_precision("bf16", 1, 256)}, {});
  EXPECT_EQ(made.setting.configuration.precision, "bf16");
  ASSERT_EQ(made.variants.size(), 2u);
  EXPECT_EQ(made.variants[0].batch, 64);
  EXPECT_WORDS(sentence(made));
  EXPECT_WORDS(all_words(made));
  EXPECT_THAT(made.reasons,
              testing::AllOf(Contains(Reason::precision), Not(Contains(Reason::loss))));
  const Recommendation equal =
      best_variant({in_precision("fp32", 1, 256), in_precision("bf16", 0.995, 256)}, {});
  EXPECT_EQ(equal.setting.configuration.precision, "fp32");
}

trial::Trial with_losses(const std::string& precision, std::int64_t batch,
                         std::vector<trial::Loss> losses) {
  trial::Trial trial;
  trial.setting.batch = batch, trial.setting.configuration.precision = precision;
  trial.losses = std::move(losses);
  return trial;
}

TEST(BestVariant, LossesAreComparedAfterTheMostStepsThatAllHave) {
  const std::vector<Recommendation> both{in_precision("fp32", 2, 64), in_precision("bf16", 1, 256)};
  const std::vector<trial::Trial> trials{
      with_losses("fp32", 256, {{10, 2.5}, {20, 2.31}, {33, 2.0}}),
      with_losses("bf16", 256, {{10, 2.5}, {20, 2.30}, {50, 1.0}}),
      with_losses("bf16", 256, {{20, 2.34}}),  // another run: their mean
      with_losses("fp32", 64, {{100, 1}}), with_losses("bf16", 64, {{100, 2}})};
  const Recommendation made = best_variant(both, trials);
  EXPECT_EQ(made.loss_step, 20);
  EXPECT_EQ(made.loss_batch, 256);
  EXPECT_EQ(made.variants[0].loss, 2.31);
  EXPECT_NEAR(made.variants[1].loss.value(), 2.32, 1e-9);
  EXPECT_WORDS(all_words(made));
  // At another batch where the answer's own tells nothing; and what differs is said.
  const Recommendation other = best_variant(both, std::vector<trial::Trial>{trials[3], trials[4]});
  EXPECT_EQ(other.loss_step, 100);
  EXPECT_EQ(other.loss_batch, 64);
  EXPECT_WORDS(all_words(other));
  EXPECT_FALSE(best_variant(both, std::vector<trial::Trial>{trials[0]}).loss_step);
}

TEST(BestVariant, OfPowerLimitsIsTheLeastEnergyThatIsFastEnough) {
  using search::Objective;
  const double best = on_curve(1, 1024, 700, Objective::energy).best_samples_per_second;
  const std::vector<Recommendation> made{
      on_curve(1, 1024, 700, Objective::energy),           // 0.0707 J
      on_curve(1.05, 1024, 500, Objective::energy, best),  // 5% slower, a quarter less
      on_curve(1.3, 1024, 300, Objective::energy, best)};  // too slow
  const Recommendation chosen = best_variant(made, {});
  EXPECT_EQ(chosen.setting.configuration.power_limit_watts, 500);
  const std::string said = sentence(chosen);
  EXPECT_WORDS(said);
  EXPECT_EQ(name_of(chosen.variants[2], chosen), "300 W");
  EXPECT_EQ(*answer_from_json(to_json({chosen}))->get<Recommendation>(), chosen);
}

TEST(Sentence, OfEnergySaysWhatItSavesAndCosts) {
  const Recommendation made = on_curve(1, 256, 700, search::Objective::energy);
  EXPECT_WORDS(sentence(made));
  EXPECT_THAT(made.reasons, Contains(Reason::energy));
  const Recommendation fastest = on_curve(1, 1024, 700, search::Objective::energy);
  EXPECT_WORDS(sentence(fastest));
}

}  // namespace
}  // namespace sweetspot::advise
