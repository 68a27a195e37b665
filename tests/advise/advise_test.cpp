#include "advise/advise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/made.h"
#include "words.h"

namespace sweetspot::advise {
namespace {

using testing::Contains;
using testing::Not;
using tests::made_decision;
using tests::made_trial;
using trial::Trial;

const std::vector<std::int64_t> batches{1, 16, 128, 1024};

std::vector<Trial> curve(double fixed, double per_sample, double wait = 0) {
  return tests::made_trials(batches, fixed, per_sample, wait);
}

Facts facts() {
  Facts made;
  made.limits.max = 60000;
  made.limits.memory.limit = 1'000'000'000;
  made.largest_fitting = 60000;
  return made;
}

std::optional<Bottleneck> limit_at(std::size_t i, const std::vector<Trial>& trials,
                                   const Facts& known) {
  return bottlenecks(trials, known).at(i);
}

TEST(StepCost, TellsTheShareOfAStepThatIsFixed) {
  EXPECT_NEAR((StepCost{0.002, 1e-4}.fixed_share(20)), 0.5, 1e-12);
  EXPECT_EQ((StepCost{}.fixed_share(20)), 0);
}

TEST(Bottleneck, AFixedCostThatDominatesIsStepOverhead) {
  const auto trials = curve(0.002, 1e-4);
  EXPECT_EQ(limit_at(0, trials, facts()), Bottleneck::step_overhead);
  EXPECT_EQ(limit_at(3, trials, facts()), Bottleneck::compute);
}

TEST(Bottleneck, OneBatchTellsNoLine) {
  const std::vector<Trial> one{made_trial(1, 0.002, 1e-4), made_trial(1, 0.003, 1e-4)};
  EXPECT_EQ(limit_at(0, one, facts()), std::nullopt) << "it may be overhead as well";
}

TEST(Bottleneck, EachLoaderHasItsOwnLine) {
  auto trials = curve(0.002, 1e-4);
  for (Trial t : curve(0, 1e-4)) {
    t.setting.configuration.workers = 4;
    trials.push_back(t);
  }
  EXPECT_EQ(limit_at(1, trials, facts()), Bottleneck::step_overhead);
  EXPECT_EQ(limit_at(5, trials, facts()), Bottleneck::compute);
}

TEST(Bottleneck, WaitingForAFifthOfTheStepIsDataLoading) {
  EXPECT_NE(limit_at(3, curve(0.002, 1e-4, 0.19), facts()), Bottleneck::data_loading);
  for (const auto& limit : bottlenecks(curve(0.002, 1e-4, 0.21), facts()))
    EXPECT_EQ(limit, Bottleneck::data_loading);
}

TEST(Bottleneck, TheRooflineTellsBandwidthFromCompute) {
  const auto trials = curve(0, 1e-4);  // 10,000 samples/s
  Facts known = facts();
  known.cost = {1e6, 1e6};        // 10 GFLOP/s and 10 GB/s
  known.roofline = {20e9, 11e9};  // half of one, nearly all of the other
  EXPECT_EQ(limit_at(3, trials, known), Bottleneck::memory_bandwidth);
  known.roofline = {11e9, 20e9};
  EXPECT_EQ(limit_at(3, trials, known), Bottleneck::compute);
  known.roofline = {20e9, 4e9};  // "memory bandwidth limits it: activations alone take 250% of it"
  EXPECT_EQ(limit_at(3, trials, known), Bottleneck::compute);
  known.roofline.bytes_per_second.reset();
  EXPECT_EQ(limit_at(3, trials, known), Bottleneck::compute);
}

TEST(Bottleneck, MemoryHoldsBackWhatWouldStillGetFaster) {
  const auto trials = curve(0.02, 1e-4);  // at 1024, 16% of the step is fixed
  Facts tight = facts();
  tight.largest_fitting = 1024;
  EXPECT_EQ(limit_at(3, trials, tight), Bottleneck::memory_capacity);
  EXPECT_NE(limit_at(2, trials, tight), Bottleneck::memory_capacity);
  // The user's own --max is no fault of memory's.
  tight.limits.max = 1024;
  EXPECT_EQ(limit_at(3, trials, tight), Bottleneck::compute);
  // Nor is it where no larger batch would be faster.
  tight.limits.max = 60000;
  EXPECT_EQ(limit_at(3, curve(0.0001, 1e-4), tight), Bottleneck::compute);
}

TEST(Bottleneck, FailedTrialsHaveNoneButMemory) {
  std::vector<Trial> failed(1);
  failed[0].outcome = trial::Outcome::out_of_memory;
  EXPECT_EQ(limit_at(0, failed, facts()), Bottleneck::memory_capacity);
  failed[0].outcome = trial::Outcome::crashed;
  EXPECT_FALSE(limit_at(0, failed, facts()));
}

TEST(LoaderAdvice, WithoutWorkersTheWaitIsTheLoading) {
  Trial t = made_trial(100, 0, 1e-4, 0.5);  // a step of 10 ms, half of it loading
  t.setting.configuration.workers = 0;
  const auto advice = loader_advice(t);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->workers, 2);  // 5 ms of loading behind 5 ms of work, with room for variation
  EXPECT_GE(advice->prefetch, advice->workers + 1);
  EXPECT_NEAR(advice->hidden_share, 0.5, 1e-9);
}

TEST(LoaderAdvice, WorkersThatCannotKeepUpGetCompany) {
  Trial t = made_trial(100, 0, 1e-4, 0.75);  // 2.5 ms of work, a batch every 10 ms
  t.setting.configuration.workers = 2;       // so each takes 20 ms for a batch
  const auto advice = loader_advice(t);
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->workers, 10);  // 20 ms / 2.5 ms and a quarter more
}

TEST(LoaderAdvice, IsBounded) {
  Trial t = made_trial(100, 0, 1e-4, 0.9999);
  t.setting.configuration.workers = 4;
  ASSERT_TRUE(loader_advice(t));
  EXPECT_LE(loader_advice(t)->workers, 64);
}

TEST(LoaderAdvice, NothingWhereLoadingIsNoBottleneck) {
  EXPECT_FALSE(loader_advice(made_trial(100, 0, 1e-4, 0.1)));
  Trial unknown = made_trial(100, 0, 1e-4);
  unknown.phases.reset();
  EXPECT_FALSE(loader_advice(unknown));
}

search::Decision decision() { return made_decision(batches, 0.002, 1e-4, 128); }

Recommendation made_of(const std::vector<Trial>& trials, const search::Decision& chosen,
                       const Facts& known) {
  const auto made = recommend(trials, chosen, known);
  EXPECT_TRUE(made);
  return made.value_or(Recommendation{});
}

// A network of which batch 8 took 145 µs was said to cost "29 µs + 33 µs a sample": a line that no
// batch lay on, since larger ones were slower by far.
TEST(Recommend, TheCostOfAStepIsThatOfTheBatchesUpToTheFastest) {
  const std::vector<std::int64_t> sizes = {1, 2, 4, 8, 16, 64, 256};
  search::Decision falling = made_decision(sizes, 29e-6, 14.5e-6, 8);
  for (search::BatchSpeed& speed : falling.speeds)
    if (speed.batch > 8) speed.samples_per_second.mean = 1 / 33e-6;
  falling.best_batch = 8;
  const Recommendation made = made_of(tests::made_trials(sizes, 29e-6, 14.5e-6), falling, facts());
  ASSERT_TRUE(made.step_cost);
  EXPECT_NEAR(made.step_cost->fixed_seconds, 29e-6, 1e-9);
  EXPECT_NEAR(made.step_cost->per_sample_seconds, 14.5e-6, 1e-9);
  EXPECT_THAT(made.reasons, Contains(Reason::step_cost));
}

TEST(Recommend, ALineThatMissesTheAnswerIsNotToldOf) {
  search::Decision bent = decision();
  for (search::BatchSpeed& speed : bent.speeds)
    if (speed.batch == bent.batch) speed.samples_per_second.mean *= 1.4;
  EXPECT_THAT(made_of(curve(0.002, 1e-4), bent, facts()).reasons, Not(Contains(Reason::step_cost)));
}

TEST(Recommend, HasTheFiguresOfTheDecision) {
  const Recommendation made = made_of(curve(0.002, 1e-4), decision(), facts());
  EXPECT_EQ(made.setting.batch, 128);
  EXPECT_EQ(made.batch, 128);
  EXPECT_EQ(made.best_batch, 1024);
  EXPECT_NEAR(made.samples_per_second, 128 / 0.0148, 1e-6);
  EXPECT_NEAR(made.throughput_share, 128 / 0.0148 / (1024 / 0.1044), 1e-9);
  EXPECT_EQ(made.memory_bytes, 1'128'000u);
  EXPECT_EQ(made.limited_by, Bottleneck::compute);
  ASSERT_TRUE(made.step_cost);
  EXPECT_NEAR(made.step_cost->fixed_seconds, 0.002, 1e-9);
  EXPECT_NEAR(made.step_cost->per_sample_seconds, 1e-4, 1e-9);
  EXPECT_FALSE(made.contended);
  EXPECT_EQ(made.reasons,
            (std::vector{Reason::step_cost, Reason::limit, Reason::given_up, Reason::memory}));
  EXPECT_WORDS(sentence(made));
  EXPECT_WORDS(words(Reason::step_cost, made));
  EXPECT_WORDS(words(Reason::limit, made));
  EXPECT_EQ(alike(made), "");
}

TEST(Recommend, NamesTheGpuWhoseMemoryItIs) {
  std::vector<trial::Trial> trials = curve(0.002, 1e-4);
  for (trial::Trial& trial : trials) {
    trial.memory_capacity = 2'000'000;
    trial.gpus = {{"cuda:0", "NVIDIA Small", 900'000, 4'000'000, "NVML", {}, {}, {}, {}},
                  {"cuda:1", "NVIDIA Small", 900'000, 2'000'000, "NVML", {}, {}, {}, {}}};
  }
  Facts known = facts();
  known.limits.memory.gpu_share = 0.9;
  Recommendation made = made_of(trials, decision(), known);
  EXPECT_EQ(made.memory_limit, 1'800'000u) << "and not the host's";
  EXPECT_EQ(made.memory_device, "cuda:1 (NVIDIA Small)");
  EXPECT_THAT(made.reasons, Contains(Reason::several_gpus));
  EXPECT_WORDS(sentence(made));
  EXPECT_WORDS(words(Reason::memory, made));
  EXPECT_WORDS(words(Reason::several_gpus, made));
  known.gpus = 2, known.batch_is = trial::BatchIs::per_gpu;
  made = made_of(trials, decision(), known);
  EXPECT_WORDS(sentence(made));
}

TEST(Recommend, HasOneRowForEachBatch) {
  auto trials = curve(0.002, 1e-4);
  trials.push_back(made_trial(128, 0.0021, 1e-4));  // a second pass
  trials.back().memory_measured = 5'000'000;
  const Recommendation made = made_of(trials, decision(), facts());
  ASSERT_EQ(made.rows.size(), batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) EXPECT_EQ(made.rows[i].batch, batches[i]);
  const BatchRow& row = *made.chosen_row();
  EXPECT_EQ(row.samples_per_second->mean, made.samples_per_second);
  EXPECT_EQ(row.share->mean, made.throughput_share);
  EXPECT_EQ(row.memory, 5'000'000u) << "the highest peak";
  EXPECT_EQ(made.rows[0].limited_by, Bottleneck::step_overhead);
}

TEST(Recommend, MemoryIsThatOfAWholeRunWhereItCanBeTold) {
  Facts known = facts();
  known.predict_run = [](std::int64_t batch) -> std::optional<core::Bytes> {
    if (batch == 1024) return std::nullopt;
    return static_cast<core::Bytes>(7'000'000 + batch);
  };
  const Recommendation made = made_of(curve(0.002, 1e-4), decision(), known);
  EXPECT_EQ(made.memory_bytes, 7'000'128u);
  EXPECT_EQ(made.rows[0].memory, 7'000'001u);
  EXPECT_EQ(made.rows[3].memory, 2'024'000u) << "measured";
}

TEST(Recommend, FailedBatchesHaveARowWithAShortNote) {
  auto trials = curve(0.002, 1e-4);
  Trial failed;
  failed.setting.batch = 4096;
  failed.outcome = trial::Outcome::out_of_memory;
  failed.note = "no\033 memory " + std::string(500, 'x') + "\nTraceback";
  trials.push_back(failed);
  failed.setting.batch = 128;  // measured well by another trial
  failed.outcome = trial::Outcome::crashed;
  trials.push_back(failed);
  failed.setting.batch = 64;  // stopped by the user: no failure
  failed.outcome = trial::Outcome::cancelled;
  trials.push_back(failed);
  const Recommendation made = made_of(trials, decision(), facts());
  ASSERT_EQ(made.rows.size(), 5u);
  EXPECT_EQ(made.chosen_row()->outcome, trial::Outcome::ok);
  const BatchRow& row = made.rows.back();
  EXPECT_EQ(row.outcome, trial::Outcome::out_of_memory);
  EXPECT_FALSE(row.samples_per_second);
  EXPECT_FALSE(row.memory);
  EXPECT_EQ(row.limited_by, Bottleneck::memory_capacity);
  EXPECT_THAT(row.note, testing::StartsWith("no\\x1b memory xxx"));
  EXPECT_LE(row.note.size(), 94u);
}

TEST(Recommend, SaysWhatTheTrialsLeaveOpen) {
  search::Decision open = decision();
  open.knee_low = 80, open.knee_high = 320, open.alike_low = 64, open.alike_high = 256;
  const Recommendation made = made_of(curve(0.002, 1e-4), open, facts());
  EXPECT_THAT(made.reasons, Contains(Reason::knee));
  EXPECT_WORDS(words(Reason::knee, made));
  EXPECT_WORDS(alike(made));
}

TEST(Recommend, OfAGivenBatchSizesAreMicroBatches) {
  search::Decision open = decision();
  open.knee_low = 80, open.knee_high = 320, open.alike_low = 64, open.alike_high = 256;
  Facts known = facts();
  known.global_batch = 1024;
  known.limits.previous = 16;
  auto trials = curve(0.002, 1e-4);
  trials[1] = made_trial(16, 0.002, 1e-4, 0.5);
  const Recommendation made = made_of(trials, open, known);
  EXPECT_EQ(made.setting.batch, 1024);
  EXPECT_EQ(made.setting.accumulation, 8);
  EXPECT_EQ(made.batch, 128);
  EXPECT_WORDS(sentence(made));
  EXPECT_WORDS(words(Reason::accumulation, made));
  EXPECT_THAT(made.reasons, testing::IsSupersetOf({Reason::knee, Reason::memory,
                                                   Reason::loading_below, Reason::changed}));
  for (const Reason reason : {Reason::knee, Reason::memory, Reason::loading_below, Reason::changed})
    EXPECT_WORDS(words(reason, made));
  EXPECT_WORDS(alike(made));
}

TEST(Recommend, TheLargestBatchIsSaidToFitWithItsEvaluation) {
  Facts largest = facts();
  largest.limits.objective = search::Objective::max_batch;
  search::Decision all = made_decision(batches, 0.002, 1e-4, 1024);
  all.alike_low = 512;
  Recommendation made = made_of(curve(0.002, 1e-4), all, largest);
  EXPECT_EQ(made.objective, search::Objective::max_batch);
  EXPECT_FALSE(made.has_run_memory) << "as of a program, whose evaluation was not run";
  EXPECT_WORDS(sentence(made));
  EXPECT_WORDS(words(Reason::memory, made));
  largest.predict_run = [](std::int64_t batch) { return core::Bytes{7'000'000} + batch; };
  made = made_of(curve(0.002, 1e-4), all, largest);
  EXPECT_TRUE(made.has_run_memory);
  EXPECT_WORDS(sentence(made));
  EXPECT_WORDS(words(Reason::memory, made));
  EXPECT_EQ(alike(made), "");
}

TEST(Recommend, ALargestBatchThatOthersCrashAboveIsNotMemorys) {
  Facts largest = facts();
  largest.limits.objective = search::Objective::max_batch;
  largest.largest_fitting = 1024;
  auto trials = curve(0.2, 1e-4);  // would still get faster
  trials.push_back(made_trial(1100, 0.2, 1e-4));
  trials.back().outcome = trial::Outcome::crashed;
  const search::Decision all = made_decision(batches, 0.2, 1e-4, 1024);
  Recommendation made = made_of(trials, all, largest);
  EXPECT_EQ(made.limited_by, Bottleneck::step_overhead);
  EXPECT_EQ(limit_at(3, trials, largest), Bottleneck::step_overhead);
  EXPECT_WORDS(sentence(made));
  trials.back().outcome = trial::Outcome::out_of_memory;
  made = made_of(trials, all, largest);
  EXPECT_EQ(made.limited_by, Bottleneck::memory_capacity);
  EXPECT_WORDS(sentence(made));
}

TEST(Recommend, SaysWhenItRestsOnContendedTrials) {
  auto trials = curve(0.002, 1e-4);
  trials[1].contention.contended = true, trials[1].contention.reason = "somebody played";
  Recommendation made = made_of(trials, decision(), facts());
  EXPECT_FALSE(made.contended);
  EXPECT_THAT(made.reasons, Contains(Reason::contended));
  EXPECT_WORDS(words(Reason::contended, made));
  for (Trial& t : trials)
    if (t.setting.batch == 128)
      t.contention.contended = true, t.contention.reason = "somebody\033played";
  made = made_of(trials, decision(), facts());
  EXPECT_TRUE(made.contended);
  EXPECT_EQ(made.reasons.front(), Reason::contended);
  EXPECT_EQ(made.contention_reason, "somebody\\x1bplayed");
  EXPECT_WORDS(sentence(made));
  // An undisturbed trial of the batch is enough.
  trials.push_back(made_trial(128, 0.002, 1e-4));
  EXPECT_FALSE(made_of(trials, decision(), facts()).contended);
  // The best speed is quoted as well.
  for (Trial& t : trials) t.contention.contended = t.setting.batch == 1024;
  EXPECT_TRUE(made_of(trials, decision(), facts()).contended);
}

TEST(Recommend, SaysHowOftenNeighboursSlowedTheMachine) {
  auto trials = curve(0.002, 1e-4);
  for (Trial& t : trials) t.seconds = 1, t.contention.slowed_share = 0.02;
  EXPECT_THAT(made_of(trials, decision(), facts()).reasons, Not(Contains(Reason::neighbours)))
      << "hardly ever";
  trials[0].seconds = 3, trials[0].contention.slowed_share = 0.5;
  const Recommendation made = made_of(trials, decision(), facts());
  EXPECT_NEAR(made.slowed_share.value_or(0), 1.56 / 6, 1e-9);
  EXPECT_THAT(made.reasons, Contains(Reason::neighbours));
  EXPECT_WORDS(words(Reason::neighbours, made));
}

TEST(Recommend, SaysWhatCutTheSearchShort) {
  Facts cut = facts();
  cut.cut_short = trial::End::budget, cut.budget_seconds = 5;
  const Recommendation made = made_of(curve(0.002, 1e-4), decision(), cut);
  EXPECT_EQ(made.reasons.front(), Reason::cut_short);
  EXPECT_WORDS(words(Reason::cut_short, made));
}

TEST(Recommend, SaysWhenTheAnswerChanged) {
  Facts known = facts();
  known.limits.previous = 128;
  EXPECT_THAT(made_of(curve(0.002, 1e-4), decision(), known).reasons,
              Not(Contains(Reason::changed)));
  known.limits.previous = 16;
  const Recommendation made = made_of(curve(0.002, 1e-4), decision(), known);
  EXPECT_EQ(made.previous_batch, 16);
  EXPECT_WORDS(words(Reason::changed, made));
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
  Recommendation made = made_of(trials, decision(), checked);
  EXPECT_EQ(made.setting.configuration.workers, 3);
  EXPECT_EQ(made.setting.configuration.prefetch, 4);
  EXPECT_EQ(made.samples_per_second, 17000);
  EXPECT_EQ(made.memory_bytes, 2'000'000u);
  EXPECT_THAT(made.reasons, Contains(Reason::loader));
  EXPECT_WORDS(words(Reason::loader, made));
  EXPECT_WORDS(sentence(made));
  checked.loader_check->samples_per_second = 8700;  // it did not
  made = made_of(trials, decision(), checked);
  EXPECT_EQ(made.setting.configuration.workers, 1);
  EXPECT_EQ(made.samples_per_second, made.chosen_row()->samples_per_second->mean);
}

TEST(Recommend, SaysWhenLoadingLimitsSmallerBatches) {
  auto trials = curve(0.002, 1e-4);
  EXPECT_FALSE(made_of(trials, decision(), facts()).loading_batch);
  trials[1] = made_trial(16, 0.002, 1e-4, 0.5);
  const Recommendation made = made_of(trials, decision(), facts());
  EXPECT_EQ(made.loading_batch, 16);
  EXPECT_WORDS(words(Reason::loading_below, made));
  Recommendation smallest = made;
  smallest.loading_batch = 1;
  EXPECT_WORDS(words(Reason::loading_below, smallest));
  Facts fixed = facts();
  fixed.has_loader = false;
  EXPECT_FALSE(made_of(trials, decision(), fixed).loading_batch);
}

TEST(GivenUp, IsTheFastestBatchAndWhatItWouldTake) {
  const Recommendation made = made_of(curve(0.002, 1e-4), decision(), facts());
  ASSERT_TRUE(made.given_up);
  EXPECT_EQ(made.given_up->batch, 1024);
  EXPECT_NEAR(made.given_up->samples_per_second, 1024 / 0.1044, 1e-6);
  EXPECT_NEAR(made.given_up->faster, 1024 / 0.1044 * 0.0148 / 128 - 1, 1e-9);
  EXPECT_EQ(made.given_up->memory, 2'024'000u);
  EXPECT_NEAR(made.given_up->times_memory.value(), 2024. / 1128, 1e-9);
  EXPECT_FALSE(made.given_up->times_noise_scale);
  EXPECT_WORDS(words(Reason::given_up, made));
  Facts noisy = facts();
  noisy.noise = trial::GradientNoise{core::Interval{64, 50, 80}, std::nullopt, 0};
  EXPECT_WORDS(words(Reason::given_up, made_of(curve(0.002, 1e-4), decision(), noisy)));
}

TEST(GivenUp, ALargerBatchIsNotSaidToTakeLessMemory) {
  auto trials = curve(0.002, 1e-4);
  trials.back().memory_measured = 900'000;  // a program's peak is noisy
  EXPECT_WORDS(words(Reason::given_up, made_of(trials, decision(), facts())));
}

TEST(GivenUp, IsNotTalkedOfWhereItIsNothing) {
  search::Decision fastest = decision();
  fastest.batch = fastest.best_batch;
  EXPECT_FALSE(made_of(curve(0.002, 1e-4), fastest, facts()).given_up);
  search::Decision level = decision();
  for (search::BatchSpeed& speed : level.speeds)
    if (speed.batch == 1024) speed.samples_per_second = {8700, 8600, 8800};  // 0.6% faster
  const Recommendation made = made_of(curve(0.002, 1e-4), level, facts());
  EXPECT_TRUE(made.given_up);
  EXPECT_THAT(made.reasons, Not(Contains(Reason::given_up)));
  Facts energy = facts();
  energy.limits.objective = search::Objective::energy;
  EXPECT_THAT(made_of(curve(0.002, 1e-4), decision(), energy).reasons,
              Not(Contains(Reason::given_up)));
}

TEST(Recommend, EveryReasonHasWords) {
  search::Decision open = decision();
  open.knee_low = 80, open.knee_high = 320;
  Facts known = facts();
  known.worker_search = WorkerSearch{2, {{128, 1, 1000}, {128, 2, 2000}}};
  known.loader_check = LoaderCheck{3, 2, 8649, {}, {}, {}};
  known.cut_short = trial::End::stopped;
  known.limits.previous = 16;
  known.notes = {"one", "two"};
  const Recommendation made = made_of(curve(0.002, 1e-4), open, known);
  EXPECT_EQ(reasons_in_words(made).size(), made.reasons.size());
  EXPECT_WORDS(words(Reason::note, made));
  EXPECT_WORDS(words(Reason::loader, made));
  EXPECT_WORDS(words(Reason::workers, made));
}

TEST(Recommend, HardlyAnyOfThePeakIsNotNone) {
  Facts known = facts();
  known.cost.flops = 200, known.roofline.flops_per_second = 1e12;
  EXPECT_WORDS(words(Reason::limit, made_of(curve(0.002, 1e-4), decision(), known)));
}

TEST(Recommend, OneBatchTellsNoLineAndIsNotTheFastest) {
  Facts known = facts();
  known.largest_fitting = 128;
  const std::vector<std::int64_t> one{128};
  const Recommendation made =
      made_of(tests::made_trials(one, 0.002, 1e-4), made_decision(one, 0.002, 1e-4, 128), known);
  EXPECT_FALSE(made.step_cost);
  EXPECT_EQ(made.limited_by, std::nullopt);
  EXPECT_THAT(made.reasons, Not(Contains(Reason::limit)));
  EXPECT_WORDS(sentence(made));
}

TEST(Recommend, RanksHaveTheirPartAndTheirEfficiency) {
  Facts known = facts();
  known.ranks = 2;
  known.scaling = trial::Scaling{2, 16e-3, 13e-3, 13.5e-3, {0.8125, 0.8, 0.825}};
  const Recommendation made = made_of(curve(0.002, 1e-4), decision(), known);
  EXPECT_EQ(made.rank_micro_batch(), made.batch / 2);
  EXPECT_WORDS(sentence(made));
  EXPECT_THAT(made.reasons, Contains(Reason::scaling));
  EXPECT_WORDS(words(Reason::scaling, made));
  // Of other ranks nothing is said.
  known.ranks = 4;
  EXPECT_FALSE(made_of(curve(0.002, 1e-4), decision(), known).scaling);
}

TEST(Recommend, ATrialSaysWhyItsMemoryIsUnknown) {
  std::vector<Trial> trials = curve(0.002, 1e-4);
  for (Trial& trial : trials) trial.note = "its allocator takes everything";
  EXPECT_TRUE(made_of(trials, decision(), facts()).notes.empty());
  for (Trial& trial : trials) trial.memory_measured.reset(), trial.memory_predicted.reset();
  const Recommendation made = made_of(trials, decision(), facts());
  EXPECT_EQ(made.notes, std::vector<std::string>{"its allocator takes everything"});
  EXPECT_THAT(made.reasons, Contains(Reason::note));
}

TEST(Recommend, ThatInputsVaryIsKnownFromAnyBatch) {
  std::vector<Trial> trials = curve(0.002, 1e-4);
  EXPECT_THAT(made_of(trials, decision(), facts()).reasons, Not(Contains(Reason::inputs_vary)));
  trials.front().inputs_vary = true;
  EXPECT_THAT(made_of(trials, decision(), facts()).reasons, Contains(Reason::inputs_vary));
}

TEST(Recommend, NothingWithoutAMeasuredBatch) {
  EXPECT_FALSE(recommend({}, decision(), facts()));
  EXPECT_FALSE(recommend(curve(0.002, 1e-4), search::Decision{}, facts()));
}

}  // namespace
}  // namespace sweetspot::advise
