#include "trial/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "learning/training_trial.h"

namespace sweetspot::learning {
namespace {

using trial::Evaluation;
using trial::Target;

Evaluation at(std::int64_t samples, double accuracy) {
  Evaluation evaluation;
  evaluation.steps = samples / 10, evaluation.samples = samples;
  evaluation.train_seconds = 0.001 * static_cast<double>(samples);
  evaluation.test_accuracy = accuracy, evaluation.test_loss = 1 - accuracy;
  return evaluation;
}

constexpr Target ninety_nine{Target::Metric::accuracy, 0.99};

TEST(Target, IsReachedBetweenTwoEvaluations) {
  const Evaluation run[] = {at(1000, 0.9), at(2000, 0.98), at(4000, 0.995), at(5000, 0.97)};
  const auto reached = trial::first_reached(run, ninety_nine);
  ASSERT_TRUE(reached);
  EXPECT_NEAR(reached->samples, 2000 + 2000 * 2 / 3., 1e-6);
  EXPECT_NEAR(reached->train_seconds, reached->samples * 0.001, 1e-9);
  EXPECT_NEAR(reached->steps, reached->samples / 10, 1e-9);
  EXPECT_DOUBLE_EQ(trial::best(run, Target::Metric::accuracy).value(), 0.995);
  EXPECT_FALSE(trial::first_reached(run, {Target::Metric::accuracy, 0.999}));
}

TEST(Target, OfALossIsReachedFromAbove) {
  const Evaluation run[] = {at(1000, 0.5), at(2000, 0.9)};  // losses 0.5 and 0.1
  EXPECT_NEAR(trial::first_reached(run, {Target::Metric::loss, 0.3})->samples, 1500, 1e-6);
  EXPECT_NEAR(trial::best(run, Target::Metric::loss).value(), 0.1, 1e-12);
}

TEST(Target, AtTheFirstEvaluationIsReachedThere) {
  const Evaluation run[] = {at(1000, 0.999)};
  EXPECT_DOUBLE_EQ(trial::first_reached(run, ninety_nine)->samples, 1000);
}

// A program may print its metric before a step of it can be seen.
TEST(Target, IsNotReachedBeforeTheFirstStep) {
  const std::vector<Evaluation> run{at(0, 0.995), at(1000, 0.992)};
  EXPECT_FALSE(trial::is_reached(run.front(), ninety_nine));
  EXPECT_FALSE(trial::first_reached(std::span(run).first(1), ninety_nine));
  EXPECT_DOUBLE_EQ(trial::first_reached(run, ninety_nine)->samples, 1000);
}

TEST(Target, PassesOverEvaluationsWithoutTheMetric) {
  std::vector<Evaluation> run{at(1000, 0.9), at(2000, 0), at(3000, 0.99)};
  run[1].test_accuracy.reset();
  EXPECT_DOUBLE_EQ(trial::first_reached(run, ninety_nine)->samples, 3000);
  run.pop_back();
  run[0].test_accuracy.reset();
  EXPECT_FALSE(trial::best(run, Target::Metric::accuracy));
}

TEST(Target, IsWorded) {
  EXPECT_EQ(words(ninety_nine), "99%");
  EXPECT_EQ(words(Target{Target::Metric::accuracy, 0.985}), "98.5%");
  EXPECT_EQ(words(Target{Target::Metric::loss, 0.1}), "loss 0.1");
}

// The samples of every evaluation of a run whose error is `error(samples)`.
template <class Error>
std::vector<double> looks(const Error& error) {
  EvaluationSchedule schedule(ninety_nine, 60'000);
  std::vector<double> found;
  while (found.size() < 1000) {
    const std::int64_t samples = schedule.next();
    found.push_back(static_cast<double>(samples));
    const Evaluation now = at(samples, 1 - error(static_cast<double>(samples)));
    if (trial::is_reached(now, ninety_nine)) break;
    schedule.evaluated(now);
  }
  return found;
}

TEST(EvaluationSchedule, LooksSeldomFarFromTheTargetAndOftenCloseToIt) {
  const auto found = looks([](double samples) { return 1000 / samples; });  // reached at 100,000
  EXPECT_DOUBLE_EQ(found.front(), 3000);
  EXPECT_LE(found.size(), 20u);
  EXPECT_GE(found.back(), 100'000);
  EXPECT_LE(found.back(), 1.12 * *(found.end() - 2));
  EXPECT_DOUBLE_EQ(found[1], 6000);
}

// As fast as it is assumed to fall at most.
TEST(EvaluationSchedule, DoesNotOvershootAnErrorThatFallsFast) {
  const auto found = looks([](double samples) { return 0.01 * 1e10 / (samples * samples); });
  EXPECT_LE(found.back(), 1.12e5);
}

}  // namespace
}  // namespace sweetspot::learning
