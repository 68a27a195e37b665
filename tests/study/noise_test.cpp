#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "study/memory_store.h"
#include "tuning/tune.h"
#include "workload/fake/fake.h"

namespace sweetspot::study {
namespace {

using advise::Reason;
using tests::Kept;
using tests::MemoryWriter;

// A fake with a given gradient noise.
class NoisyWorkload : public workload::fake::FakeWorkload, public workload::NativeProbes {
 public:
  using FakeWorkload::FakeWorkload;
  workload::NativeProbes* probes() override { return this; }
  std::optional<trial::GradientNoise> gradient_noise(const trial::Setting& setting, std::int64_t,
                                                     core::Seconds,
                                                     const std::atomic<int>&) override {
    ++asked;
    taught = setting;
    if (fails) throw core::MachineError("no memory for that");
    return trial::GradientNoise{core::Interval{20, 15, 25}, core::Interval{100, 80, 120}, 0.5};
  }
  std::optional<trial::RateRun> try_rate(const trial::Setting& setting, std::int64_t steps,
                                         const std::atomic<int>&) override {
    rates.push_back(setting.learning_rate);
    if (on_rate) on_rate();
    return trial::RateRun{setting.learning_rate, steps, setting.learning_rate};  // less is better
  }

  int asked = 0;
  bool fails = false;
  std::function<void()> on_rate;
  trial::Setting taught;
  std::vector<double> rates;
};

struct NoiseOfAStudy : testing::Test {
  NoiseOfAStudy() : workload(machine()) {
    options.limits.max = 8192;
    options.facts.rate_base = advise::LearningRateBase{0.001, 100, true, std::nullopt};
    options.command = [](const trial::Setting& setting) {
      return "train --lr " + std::to_string(setting.learning_rate);
    };
  }
  static workload::fake::Options machine() {
    workload::fake::Options made;
    made.fixed_seconds = 1.4e-3, made.per_sample_seconds = 1e-5, made.noise_share = 0.01;
    made.memory_fixed = 1 << 20, made.memory_per_sample = 1 << 10, made.samples = 8192;
    return made;
  }
  tuning::TuneResult run() {
    MemoryWriter writer(kept);
    return tune(workload, writer, options, quiet, stop);
  }

  Kept kept;
  std::atomic<int> stop{0};
  Observer quiet;
  tuning::TuneOptions options;
  NoisyWorkload workload;
};

TEST_F(NoiseOfAStudy, IsMeasuredOnceStoredAndSaid) {
  const tuning::TuneResult result = run();
  ASSERT_TRUE(result.recommendation());
  EXPECT_EQ(workload.asked, 1);
  EXPECT_EQ(workload.taught.batch, 100);
  EXPECT_EQ(workload.taught.learning_rate, 0.001);
  EXPECT_EQ(result.recommendation()->batch, 2048) << "the batch is as without";
  EXPECT_NEAR(advise::times_noise_scale(*result.recommendation()).value(), 20, 0.5);
  EXPECT_EQ(tests::stored<advise::Recommendation>(kept), *result.recommendation());
  const tuning::TuneResult again = run();
  EXPECT_EQ(workload.asked, 1);
  EXPECT_EQ(again.recommendation()->noise, result.recommendation()->noise);
}

TEST_F(NoiseOfAStudy, DecidesTheLearningRateOfTheCommandOnly) {
  const tuning::TuneResult result = run();
  const double rate = result.recommendation()->setting.learning_rate;
  EXPECT_LT(rate, 0.001);  // far beyond the noise scale Adam's falls
  EXPECT_EQ(result.recommendation()->command, "train --lr " + std::to_string(rate));
  for (const trial::Trial& trial : result.trials)
    EXPECT_EQ(trial.setting.learning_rate, trial::Setting().learning_rate);
}

TEST_F(NoiseOfAStudy, ThatCannotBeMeasuredLeavesTheAnswer) {
  workload.fails = true;
  const tuning::TuneResult result = run();
  ASSERT_TRUE(result.recommendation());
  EXPECT_FALSE(result.recommendation()->noise);
  EXPECT_EQ(result.recommendation()->learning_rate->rule,
            convergence::LearningRateRule::square_root);
}

TEST_F(NoiseOfAStudy, RatesAreTriedAtHalfAndTwiceWhenAsked) {
  options.check_rate = true;
  const tuning::TuneResult result = run();
  const double by_rule = result.recommendation()->learning_rate->by_rule;
  EXPECT_THAT(workload.rates, testing::ElementsAre(by_rule / 2, by_rule, 2 * by_rule));
  EXPECT_EQ(result.recommendation()->setting.learning_rate, by_rule / 2);
}

// It was asked for, so the answer says that it is missing, and why.
TEST_F(NoiseOfAStudy, SaysThatRatesWereNotTriedWithinTheBudget) {
  options.check_rate = true;
  double seconds = 0;
  options.loop.now = [&] { return core::Seconds(seconds); };
  options.loop.budget = core::Seconds(100);
  workload.on_rate = [&] { seconds += workload.rates.size() == 2 ? 100 : 1; };
  const tuning::TuneResult half = run();
  ASSERT_TRUE(half.recommendation());
  EXPECT_EQ(workload.rates.size(), 2u);
  EXPECT_TRUE(half.recommendation()->learning_rate->tried.empty());
  const auto says = [](const tuning::TuneResult& result, const std::string& why) {
    EXPECT_THAT(result.recommendation()->notes,
                testing::Contains("--lr-check did not run to its end: " + why));
    EXPECT_THAT(result.recommendation()->reasons, testing::Contains(Reason::note));
  };
  says(half, "the budget was spent; use a larger --budget");
  workload.on_rate = [] { throw core::MachineError("no memory for that"); };
  says(run(), "a run at one of the rates failed");
}

}  // namespace
}  // namespace sweetspot::study
