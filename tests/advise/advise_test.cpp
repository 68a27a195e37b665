#include "advise/advise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/trials.h"

namespace sweetspot::advise {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using tests::made_trial;
using trial::Trial;

std::vector<Trial> curve(double fixed, double per_sample, double wait = 0) {
  std::vector<Trial> trials;
  for (const std::int64_t batch : {1, 16, 128, 1024})
    trials.push_back(made_trial(batch, fixed, per_sample, wait));
  return trials;
}

Facts facts() {
  Facts made;
  made.limits.max = 60000;
  made.limits.memory_limit = 1'000'000'000;
  made.largest_fitting = 60000;
  return made;
}

TEST(StepCost, IsTheLineThroughTheSteps) {
  const auto cost = step_cost(curve(0.002, 1e-4));
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->fixed_seconds, 0.002, 1e-9);
  EXPECT_NEAR(cost->per_sample_seconds, 1e-4, 1e-11);
  EXPECT_NEAR(cost->fixed_share(20), 0.5, 1e-6);
}

TEST(StepCost, LeavesWaitingOut) {
  const auto cost = step_cost(curve(0.002, 1e-4, 0.5));
  ASSERT_TRUE(cost);
  EXPECT_NEAR(cost->fixed_seconds, 0.001, 1e-9);
}

TEST(StepCost, OneBatchTellsNoLine) {
  const std::vector<Trial> one{made_trial(8, 0.002, 1e-4), made_trial(8, 0.003, 1e-4)};
  EXPECT_FALSE(step_cost(one));
  EXPECT_FALSE(step_cost({}));
}

TEST(Bottleneck, AFixedCostThatDominatesIsStepOverhead) {
  const auto trials = curve(0.002, 1e-4);
  EXPECT_EQ(bottleneck(trials[0], trials, facts()), Bottleneck::step_overhead);
  EXPECT_EQ(bottleneck(trials[3], trials, facts()), Bottleneck::compute);
}

TEST(Bottleneck, WaitingForAFifthOfTheStepIsDataLoading) {
  std::vector<Trial> trials = curve(0.002, 1e-4, 0.19);
  EXPECT_NE(bottleneck(trials[3], trials, facts()), Bottleneck::data_loading);
  trials = curve(0.002, 1e-4, 0.21);
  for (const Trial& t : trials)
    EXPECT_EQ(bottleneck(t, trials, facts()), Bottleneck::data_loading) << t.setting.batch;
}

TEST(Bottleneck, TheRooflineTellsBandwidthFromCompute) {
  const auto trials = curve(0, 1e-4);  // 10,000 samples/s
  Facts known = facts();
  known.cost = {1e6, 1e6};        // 10 GFLOP/s and 10 GB/s
  known.roofline = {20e9, 11e9};  // half of one, nearly all of the other
  EXPECT_EQ(bottleneck(trials[3], trials, known), Bottleneck::memory_bandwidth);
  known.roofline = {11e9, 20e9};
  EXPECT_EQ(bottleneck(trials[3], trials, known), Bottleneck::compute);
  known.roofline.bytes_per_second.reset();
  EXPECT_EQ(bottleneck(trials[3], trials, known), Bottleneck::compute);
}

TEST(Bottleneck, MemoryHoldsBackWhatWouldStillGetFaster) {
  const auto trials = curve(0.02, 1e-4);  // at 1024, 16% of the step is fixed
  Facts tight = facts();
  tight.largest_fitting = 1024;
  EXPECT_EQ(bottleneck(trials[3], trials, tight), Bottleneck::memory_capacity);
  EXPECT_NE(bottleneck(trials[2], trials, tight), Bottleneck::memory_capacity);
  // The user's own --max is no fault of memory's.
  tight.limits.max = 1024;
  EXPECT_EQ(bottleneck(trials[3], trials, tight), Bottleneck::compute);
  // Nor is it where no larger batch would be faster.
  const auto flat = curve(0.0001, 1e-4);
  tight.limits.max = 60000;
  EXPECT_EQ(bottleneck(flat[3], flat, tight), Bottleneck::compute);
}

TEST(Bottleneck, FailedTrialsHaveNoneButMemory) {
  Trial failed;
  failed.outcome = trial::Outcome::out_of_memory;
  EXPECT_EQ(bottleneck(failed, {}, facts()), Bottleneck::memory_capacity);
  failed.outcome = trial::Outcome::crashed;
  EXPECT_FALSE(bottleneck(failed, {}, facts()));
}

TEST(LoaderAdvice, WithoutWorkersTheWaitIsTheLoading) {
  Trial t = made_trial(100, 0, 1e-4, 0.5);  // a step of 10 ms, half of it loading
  t.setting.workers = 0;
  const auto advice = loader_advice(t);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->workers, 2);  // 5 ms of loading behind 5 ms of work, with room for variation
  EXPECT_GE(advice->prefetch, advice->workers + 1);
  EXPECT_NEAR(advice->hidden_share, 0.5, 1e-9);
}

TEST(LoaderAdvice, WorkersThatCannotKeepUpGetCompany) {
  Trial t = made_trial(100, 0, 1e-4, 0.75);  // 2.5 ms of work, a batch every 10 ms
  t.setting.workers = 2;                     // so each takes 20 ms for a batch
  const auto advice = loader_advice(t);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->workers, 10);  // 20 ms / 2.5 ms and a quarter more
}

TEST(LoaderAdvice, IsBounded) {
  Trial t = made_trial(100, 0, 1e-4, 0.9999);
  t.setting.workers = 4;
  ASSERT_TRUE(loader_advice(t));
  EXPECT_LE(loader_advice(t)->workers, 64);
}

TEST(LoaderAdvice, NothingWhereLoadingIsNoBottleneck) {
  EXPECT_FALSE(loader_advice(made_trial(100, 0, 1e-4, 0.1)));
  Trial unknown = made_trial(100, 0, 1e-4);
  unknown.phases.reset();
  EXPECT_FALSE(loader_advice(unknown));
}

search::Choice choice() {
  search::Choice made;
  made.batch = 128, made.samples_per_second = 8649, made.best_batch = 1024;
  made.best_samples_per_second = 9808;
  made.settled = true;
  return made;
}

TEST(Recommend, QuotesTheNumbers) {
  const auto trials = curve(0.002, 1e-4);
  const auto made = recommend(trials, choice(), facts());
  ASSERT_TRUE(made);
  EXPECT_EQ(made->setting.batch, 128);
  EXPECT_NEAR(made->throughput_share, 8649.0 / 9808, 1e-9);
  EXPECT_EQ(made->memory_bytes, 1'128'000u);
  EXPECT_THAT(
      made->reasons,
      Contains(HasSubstr("8,649 samples/s by the curve fitted to all trials (its "
                         "own trial: 8,649 ±1.0%), 88% of the best, 9,808 at batch 1,024")));
  EXPECT_TRUE(made->fitted);
  EXPECT_THAT(made->reasons,
              Contains(HasSubstr("a step costs 2 ms whatever its batch and 100 µs")));
  EXPECT_THAT(made->reasons, Contains(HasSubstr("1.1 MiB of memory of the 954 MiB allowed")));
  EXPECT_THAT(made->reasons, Contains(HasSubstr("limits it is compute")));
  EXPECT_THAT(made->sentence,
              HasSubstr("Train with batch 128: 8,649 samples/s (fitted), 88% of the best"));
  EXPECT_THAT(made->reasons, Not(Contains(HasSubstr("contended"))));
}

TEST(Recommend, SaysWhatTheTrialsLeaveOpen) {
  search::Choice made = choice();
  made.least_batch = 80, made.sure_batch = 320;
  EXPECT_THAT(recommend(curve(0.002, 1e-4), made, facts())->reasons,
              Contains(HasSubstr("within 5% of the best lies between 80 and 320")));
  made.least_batch = 250;
  EXPECT_THAT(recommend(curve(0.002, 1e-4), made, facts())->reasons,
              Not(Contains(HasSubstr("lies between"))));
}

TEST(Recommend, TheLargestBatchsSpeedIsItsOwn) {
  Facts largest = facts();
  largest.limits.objective = search::Objective::max_batch;
  const auto made = recommend(curve(0.002, 1e-4), choice(), largest);
  EXPECT_FALSE(made->fitted);
  EXPECT_THAT(made->sentence, Not(HasSubstr("fitted")));
  EXPECT_THAT(made->reasons, Not(Contains(HasSubstr("fitted"))));
}

TEST(Recommend, SaysWhenTheMachineWasContended) {
  auto trials = curve(0.002, 1e-4);
  trial::Contention& contention = trials[1].contention;
  contention.cpu_pressure_share = 0.34, contention.other_cpu_share = 0.2;
  contention.contended = true;
  EXPECT_THAT(recommend(trials, choice(), facts())->reasons,
              Contains(testing::AllOf(HasSubstr("contended in 1 of 4 trials"), HasSubstr("34%"))));
  contention.reason = "somebody played";
  EXPECT_THAT(recommend(trials, choice(), facts())->reasons,
              Contains(HasSubstr("contended in 1 of 4 trials (somebody played)")));
}

TEST(Recommend, SaysHowMuchOfTheTimeDoesNotCount) {
  auto trials = curve(0.002, 1e-4);
  for (trial::Trial& t : trials) t.seconds = 1, t.contention.disturbed_share = 0.02;
  const auto disturbed = Contains(HasSubstr("of the time the CPUs were slower"));
  EXPECT_THAT(recommend(trials, choice(), facts())->reasons, Not(disturbed)) << "hardly any";
  trials[0].seconds = 3, trials[0].contention.disturbed_share = 0.5;
  EXPECT_THAT(recommend(trials, choice(), facts())->reasons,
              Contains(HasSubstr("26% of the time the CPUs were slower")));
  trials[0].contention.contended = true;  // there, they did count
  EXPECT_THAT(recommend(trials, choice(), facts())->reasons, Not(disturbed));
}

TEST(Recommend, SaysFirstThatItRestsOnContendedTrials) {
  auto trials = curve(0.002, 1e-4);
  for (trial::Trial& t : trials)
    if (t.setting.batch == 128)
      t.contention.contended = true, t.contention.reason = "somebody\033played";
  auto made = recommend(trials, choice(), facts());
  EXPECT_TRUE(made->contended);
  EXPECT_THAT(made->sentence, testing::EndsWith("; measured while the machine was busy."));
  EXPECT_THAT(made->reasons.front(),
              testing::AllOf(testing::StartsWith("measured while the machine was busy: "),
                             HasSubstr("no undisturbed one of batch 128"),
                             HasSubstr("somebody\\x1bplayed")));
  EXPECT_THAT(made->reasons.back(), Not(HasSubstr("contended")));
  // An undisturbed trial of the batch is what counts then.
  trials.push_back(made_trial(128, 0.002, 1e-4));
  made = recommend(trials, choice(), facts());
  EXPECT_FALSE(made->contended);
  EXPECT_THAT(made->sentence, Not(HasSubstr("busy")));
  EXPECT_THAT(made->reasons.front(), HasSubstr("8,649"));
  // The best speed is quoted as well.
  for (trial::Trial& t : trials) t.contention.contended = t.setting.batch == 1024;
  made = recommend(trials, choice(), facts());
  EXPECT_THAT(made->reasons.front(), HasSubstr("no undisturbed one of batch 1,024"));
}

TEST(Recommend, SaysWhatCutTheSearchShort) {
  Facts cut = facts();
  cut.cut_short = "the budget of 5.0 s ended before the search";
  EXPECT_THAT(recommend(curve(0.002, 1e-4), choice(), cut)->reasons,
              Contains(HasSubstr("the budget of 5.0 s ended")));
}

TEST(Recommend, FollowsLoaderAdviceThatHelped) {
  const auto trials = curve(0.002, 1e-4, 0.5);
  Facts checked = facts();
  checked.loader_check = LoaderCheck{.workers = 3,
                                     .prefetch = 4,
                                     .samples_per_second_before = 8649,
                                     .samples_per_second = 17000,
                                     .data_wait_share = 0.01,
                                     .memory_bytes = 2'000'000};
  auto made = recommend(trials, choice(), checked);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->setting.workers, 3);
  EXPECT_EQ(made->setting.prefetch, 4);
  EXPECT_EQ(made->samples_per_second, 17000);
  EXPECT_FALSE(made->fitted);
  EXPECT_EQ(made->memory_bytes, 2'000'000u);
  EXPECT_THAT(made->reasons, Contains(HasSubstr("--workers 3 --prefetch 4 it trains 17,000 "
                                                "samples/s, +97%")));
  checked.loader_check->samples_per_second = 8700;  // it did not
  made = recommend(trials, choice(), checked);
  EXPECT_EQ(made->setting.workers, 1);
  EXPECT_EQ(made->samples_per_second, 8649);
}

TEST(Recommend, SaysWhenLoadingLimitsSmallerBatches) {
  auto trials = curve(0.002, 1e-4);
  EXPECT_THAT(recommend(trials, choice(), facts())->reasons, Not(Contains(HasSubstr("loading"))));
  trials[1] = made_trial(16, 0.002, 1e-4, 0.5);
  EXPECT_THAT(recommend(trials, choice(), facts())->reasons,
              Contains(HasSubstr("at batch 16 and below loading is the limit (50% of the step)")));
}

TEST(Recommend, NothingWithoutTrials) { EXPECT_FALSE(recommend({}, choice(), facts())); }

}  // namespace
}  // namespace sweetspot::advise
