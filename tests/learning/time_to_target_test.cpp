#include "learning/time_to_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "study/memory_store.h"
#include "words.h"
#include "workload/fake/fake.h"

namespace sweetspot::learning {
namespace {

using tests::Kept;
using tests::MemoryWriter;
using workload::fake::FakeTraining;
using workload::fake::Learning;

workload::fake::Options machine(const Learning& learning) {
  workload::fake::Options options;
  options.fixed_seconds = 1e-3, options.per_sample_seconds = 2e-5;
  options.samples = 10'000;
  options.learning = learning;
  return options;
}

Learning law(double critical_batch) {
  Learning learning;
  learning.samples_to_99 = 20'000, learning.critical_batch = critical_batch;
  return learning;
}

TargetOptions asked(const workload::fake::Options& made, std::int64_t largest = 4096) {
  TargetOptions options;
  options.target = {trial::Target::Metric::accuracy, 0.99};
  options.rule = convergence::LearningRateRule::none;
  options.adaptive_optimizer = false;  // the fake's noise scale is its law's
  for (std::int64_t batch = 16; batch <= largest; batch *= 2) {
    const double speed = samples_per_second(made, batch);
    options.candidates.push_back({batch, {speed, speed, speed}, {1, 1, 1}, 1});
  }
  return options;
}

const advise::TimeToTarget& told(const study::Result& result) {
  return *result.answer.get<advise::TimeToTarget>();
}

struct Search {
  Kept kept;
  std::atomic<int> stop{0};
  study::Observer quiet;

  study::Result run(const workload::fake::Options& made, const TargetOptions& options) {
    FakeTraining training(made);
    MemoryWriter writer(kept);
    return reach_target(training, writer, options, quiet, stop);
  }
};

double true_seconds(const workload::fake::Options& made, std::int64_t batch,
                    std::uint64_t seed = 1000) {
  trial::Setting setting;
  setting.batch = batch, setting.seed = seed;
  return samples_to(*made.learning, setting, 0.99) / samples_per_second(made, batch);
}

std::int64_t soonest(const workload::fake::Options& made, const TargetOptions& options) {
  return std::ranges::min_element(
             options.candidates, {},
             [&](const search::BatchSpeed& each) { return true_seconds(made, each.batch); })
      ->batch;
}

// Ten laws, from a network that needs small batches to one that does not.
TEST(TimeToTarget, FindsTheBatchThatIsThereSoonest) {
  for (const double critical : {20., 60., 150., 400., 1000., 5000.}) {
    const auto made = machine(law(critical));
    const TargetOptions options = asked(made);
    Search search;
    const study::Result result = search.run(made, options);
    ASSERT_EQ(result.answer.end, trial::End::found) << critical;
    const double best = true_seconds(made, soonest(made, options));
    EXPECT_LT(true_seconds(made, *told(result).batch), 1.1 * best) << critical;
    const advise::TargetRow& row = *told(result).chosen();
    EXPECT_NEAR(measured_seconds(row)->mean / true_seconds(made, row.batch), 1, 0.03);
    EXPECT_EQ(row.reached(), 3);
    for (const advise::TargetRow& each : told(result).rows)
      EXPECT_NEAR(std::log(each.predicted_seconds->mean / true_seconds(made, each.batch)), 0, 0.2)
          << critical << ", batch " << each.batch;
  }
}

// The default of `train` may be fewer.
TEST(TimeToTarget, RecommendsAsManyEpochsAsItsRunsNeeded) {
  const auto made = machine(law(300));
  TargetOptions options = asked(made);
  options.command = [](const trial::Setting&) { return "sweetspot train"; };
  Search search;
  const advise::TimeToTarget answer = told(search.run(made, options));
  const double samples = std::ranges::max(answer.chosen()->samples());
  ASSERT_GT(samples, 10'000) << "more than one epoch";
  EXPECT_EQ(answer.command,
            "sweetspot train --epochs " +
                std::to_string(static_cast<int>(std::ceil(samples / *answer.samples_in_epoch))));
}

TEST(TimeToTarget, CostsAFractionOfTrainingThemAll) {
  const auto made = machine(law(300));
  TargetOptions options = asked(made);
  const double raced = told(Search().run(made, options)).seconds_spent;
  options.finalists.reset();
  const study::Result all = Search().run(made, options);
  EXPECT_EQ(all.trials.size(), 27u);
  EXPECT_LT(raced, told(all).seconds_spent / 3);
}

// The runs themselves replace the noise scale.
TEST(TimeToTarget, NeedsNoNoiseScale) {
  Learning quiet = law(100);
  quiet.tells_noise_scale = false;
  const auto made = machine(quiet);
  const TargetOptions options = asked(made);
  Search search;
  const study::Result result = search.run(made, options);
  EXPECT_FALSE(told(result).noise_batch);
  EXPECT_LT(true_seconds(made, *told(result).batch),
            1.15 * true_seconds(made, soonest(made, options)));
}

TEST(TimeToTarget, OfUnequalSeedsHasAnInterval) {
  Learning learning = law(300);
  learning.seed_deviation = 0.1;
  Search search;
  const auto made = machine(learning);
  const study::Result result = search.run(made, asked(made));
  const advise::TargetRow& row = *told(result).chosen();
  ASSERT_EQ(row.runs.size(), 3u);
  for (const advise::TargetRunTold& run : row.runs)
    EXPECT_NEAR(run.seconds / true_seconds(made, row.batch, run.seed), 1, 0.03);
  const core::Interval seconds = *measured_seconds(row);
  EXPECT_LT(seconds.low, seconds.mean);
  EXPECT_WORDS(tests::without_numbers(sentence(told(result))));
}

TEST(TimeToTarget, BeyondWhatTheModelReachesIsAnOutcome) {
  Learning learning = law(300);
  learning.best_accuracy = 0.9876;
  Search search;
  const auto made = machine(learning);
  const study::Result result = search.run(made, asked(made));
  EXPECT_EQ(result.answer.end, trial::End::not_reached);
  EXPECT_FALSE(told(result).batch);
  EXPECT_DOUBLE_EQ(told(result).best.value(), 0.9876);
  EXPECT_FALSE(told(result).critical_batch) << "no run shows it";
  EXPECT_EQ(told(result).most_epochs, 20);
  EXPECT_WORDS(result.answer.message);
}

TEST(TimeToTarget, GoesOnWithoutABatchWhoseLearningRateDiverges) {
  Learning learning = law(100'000);
  learning.diverges_above = 0.002;
  const auto made = machine(learning);
  TargetOptions options = asked(made);
  options.rule = convergence::LearningRateRule::linear;  // 0.001 at 100: 256 is too much
  Search search;
  const study::Result result = search.run(made, options);
  ASSERT_EQ(result.answer.end, trial::End::found);
  EXPECT_EQ(told(result).batch, 128);
  const advise::TargetRow* failed = told(result).row(4096);
  ASSERT_TRUE(failed);
  EXPECT_WORDS(failed->failure);
}

// It reports its metric, and then turns out to be no training that can be counted.
class RefusedAt512 final : public FakeTraining {
 public:
  using FakeTraining::FakeTraining;
  workload::Trained train(const trial::Setting& setting, int epochs,
                          workload::TrainingObserver& observer,
                          const workload::Until& until) override {
    workload::Trained trained = FakeTraining::train(setting, epochs, observer, until);
    if (setting.batch == 512) trained.outcome = trial::Outcome::refused;
    return trained;
  }
};

TEST(TimeToTarget, IsNotPredictedFromRunsThatFailed) {
  const auto made = machine(law(5000));
  TargetOptions options = asked(made);
  options.finalists.reset();
  Search whole, with_failure;
  RefusedAt512 training(made);
  MemoryWriter writer(with_failure.kept);
  const study::Result result =
      reach_target(training, writer, options, with_failure.quiet, with_failure.stop);
  EXPECT_FALSE(told(result).row(512)->failure.empty());
  options.candidates.erase(std::ranges::find(options.candidates, 512, &search::BatchSpeed::batch));
  const study::Result without = whole.run(made, options);
  EXPECT_DOUBLE_EQ(told(result).row(1024)->predicted_seconds->mean,
                   told(without).row(1024)->predicted_seconds->mean);
}

TEST(TimeToTarget, OfAModelThatNeverTellsTheMetricIsSaidSo) {
  Search search;
  const auto made = machine(law(300));
  TargetOptions options = asked(made);
  options.target = {trial::Target::Metric::loss, 0.1};  // the fake has none
  const study::Result result = search.run(made, options);
  EXPECT_EQ(result.answer.end, trial::End::metric_missing);
  EXPECT_EQ(result.trials.size(), 1u) << "one run shows it";
  const advise::TargetRow& row = *told(result).row(result.trials.front().setting.batch);
  EXPECT_GT(row.runs.front().samples, 0);
  EXPECT_GT(row.runs.front().seconds, 0);
  EXPECT_WORDS(result.answer.message);
}

TEST(TimeToTarget, IsKeptAndResumed) {
  Search search;
  const auto made = machine(law(300));
  const TargetOptions options = asked(made);
  const study::Result first = search.run(made, options);
  const study::Result again = search.run(made, options);
  EXPECT_EQ(again.trials.size(), first.trials.size());
  EXPECT_EQ(again.resumed, first.trials.size());
  EXPECT_EQ(told(again).batch, told(first).batch);
  const auto stored = tests::stored<advise::TimeToTarget>(search.kept);
  ASSERT_TRUE(stored);
  EXPECT_EQ(*stored, told(again));
  EXPECT_FALSE(tests::stored<advise::Recommendation>(search.kept)) << "it is no recommendation";
}

// A first answer, then the reference: runs that were stopped are trained to the end.
TEST(TimeToTarget, GoesOnToTrainThemAll) {
  const auto made = machine(law(300));
  TargetOptions options = asked(made, 1024);
  Search search;
  const study::Result first = search.run(made, options);
  trial::Trial& slow = search.kept.study.trials[1];
  slow.stop_reason = trial::StopReason::max_steps;
  slow.evaluations.pop_back();
  options.finalists.reset();
  const study::Result all = search.run(made, options);
  EXPECT_EQ(all.resumed, first.trials.size());
  EXPECT_EQ(all.trials.size(), 22u) << "seven batches with three seeds, and one of them once more";
  for (const advise::TargetRow& row : told(all).rows) EXPECT_EQ(row.reached(), 3) << row.batch;
}

TEST(TimeToTarget, OfEnergyCountsJoules) {
  const auto made = machine(law(300));
  TargetOptions options = asked(made);
  options.for_energy = true;
  // Small batches take less energy, whatever their speed.
  for (search::BatchSpeed& each : options.candidates) {
    const double joules = 1 + 0.01 * static_cast<double>(each.batch);
    each.joules_per_sample = {joules, joules, joules};
  }
  Search search;
  const study::Result result = search.run(made, options);
  EXPECT_LE(*told(result).batch, 32);
  EXPECT_WORDS(tests::without_numbers(sentence(told(result))));
}

}  // namespace
}  // namespace sweetspot::learning
