#include "tuning/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/error.h"
#include "stats/experiment.h"
#include "study/hooked.h"
#include "study/memory_store.h"
#include "words.h"

namespace sweetspot::study {
namespace {

using advise::Reason;
using testing::Contains;
using testing::Not;
using tests::HookedWorkload;
using tests::Kept;
using tests::MemoryWriter;
using trial::Outcome;
using workload::fake::FakeWorkload;

// 1.4 ms and 10 µs a sample, up to batch 8,192: 95% of its speed is reached at 1,983.
constexpr std::int64_t largest = 8192, true_knee = 1983, right_answer = 2048;
workload::fake::Options machine() {
  workload::fake::Options options;
  options.fixed_seconds = 1.4e-3, options.per_sample_seconds = 1e-5;
  options.noise_share = 0.01;
  options.memory_fixed = 1 << 20, options.memory_per_sample = 1 << 10;
  options.samples = largest;
  return options;
}

// The same, one batch at a time.
workload::fake::Options program() {
  workload::fake::Options options = machine();
  options.side_by_side = false;
  return options;
}

tuning::TuneOptions asked() {
  tuning::TuneOptions options;
  options.limits.max = largest;
  options.limits.memory.limit = core::GiB;
  return options;
}

struct Study {
  Kept kept;
  std::atomic<int> stop{0};
  Observer quiet;

  tuning::TuneResult run(const tuning::TuneOptions& options,
                         const workload::fake::Options& made = machine()) {
    FakeWorkload workload(made);
    return run(options, workload);
  }
  tuning::TuneResult run(const tuning::TuneOptions& options, workload::Workload& workload) {
    MemoryWriter writer(kept);
    return tune(workload, writer, options, quiet, stop);
  }
};

// By batch: the rounds in which it has a block, over all trials.
std::map<std::int64_t, std::vector<std::int32_t>> rounds_by_batch(
    const std::vector<trial::Trial>& trials) {
  std::map<std::int64_t, std::vector<std::int32_t>> rounds;
  for (const trial::Trial& trial : trials)
    for (const trial::Step& step : trial.raw)
      if (!step.warm_up && step.round > 0) rounds[trial.setting.batch].push_back(step.round);
  return rounds;
}

std::int32_t last_round(const std::vector<trial::Trial>& trials) {
  std::int32_t last = 0;
  for (const auto& [batch, rounds] : rounds_by_batch(trials)) last = std::max(last, rounds.back());
  return last;
}

// The true throughput of the recommended batch, relative to the largest.
double true_share(const tuning::TuneResult& result, std::int64_t of = largest) {
  return workload::fake::samples_per_second(machine(), result.recommendation()->batch) /
         workload::fake::samples_per_second(machine(), of);
}

void expect_stored(const Study& study, const tuning::TuneResult& result) {
  ASSERT_TRUE(result.recommendation());
  EXPECT_EQ(tests::stored<advise::Recommendation>(study.kept), *result.recommendation());
  EXPECT_EQ(study.kept.study.trials.size(), result.trials.size());
}

TEST(Tune, FindsTheKneeAndKeepsTrialsAndAnswer) {
  for (const auto& made : {machine(), program()}) {
    Study study;
    const tuning::TuneResult result = study.run(asked(), made);
    EXPECT_EQ(result.answer.end, trial::End::found);
    expect_stored(study, result);
    EXPECT_EQ(result.recommendation()->batch, right_answer);
    EXPECT_LE(result.recommendation()->knee_low, true_knee);
    EXPECT_GE(result.recommendation()->knee_high, true_knee);
    EXPECT_EQ(study.kept.study.end, trial::End::found);
  }
}

TEST(Tune, WhatTakesTurnsHasRoundsAndOneTrialOfEachBatch) {
  Study study;
  const tuning::TuneResult result = study.run(asked());
  const auto rounds = rounds_by_batch(result.trials);
  EXPECT_EQ(rounds.size(), result.trials.size());
  EXPECT_GE(rounds.at(result.recommendation()->batch).size(), experiment::least_rounds);
  for (const auto& [batch, list] : rounds)
    EXPECT_TRUE(std::ranges::adjacent_find(list, std::greater_equal()) == list.end()) << batch;
  EXPECT_GT(study.kept.saves, 1) << "while it grows";
}

// 16 and 32 decide here, and a turn of 256 takes as long as ten of theirs.
TEST(Tune, DearBatchesAreInFewerRounds) {
  workload::fake::Options made = machine();
  made.fixed_seconds = 1e-3, made.per_sample_seconds = 1e-3, made.noise_share = 0.1;
  made.samples = 256;
  tuning::TuneOptions options = asked();
  options.limits.max = 256;
  Study study;
  auto rounds = rounds_by_batch(study.run(options, made).trials);
  std::size_t most = 0;
  for (const std::int64_t batch : {8, 16, 32}) most = std::max(most, rounds[batch].size());
  EXPECT_GT(most, 3 * rounds[256].size() / 2);
}

TEST(Tune, AProgramHasRunsInTwoPasses) {
  Study study;
  const tuning::TuneResult result = study.run(asked(), program());
  EXPECT_TRUE(rounds_by_batch(result.trials).empty());
  const std::int64_t answer = result.recommendation()->batch;
  EXPECT_EQ(std::ranges::count(result.trials, answer,
                               [](const trial::Trial& trial) { return trial.setting.batch; }),
            2);
}

TEST(Tune, AnAnswerThatLastsIsConfirmedOnce) {
  for (const auto& made : {machine(), program()}) {
    Study study;
    tuning::TuneOptions options = asked();
    options.confirm = tuning::Confirm{2000};
    const tuning::TuneResult result = study.run(options, made);
    EXPECT_EQ(result.answer.end, trial::End::found);
    expect_stored(study, result);
    EXPECT_EQ(result.recommendation()->batch, right_answer);
    ASSERT_TRUE(result.recommendation()->confirmation);
    EXPECT_TRUE(result.recommendation()->confirmation->confirmed);
    EXPECT_EQ(result.recommendation()->confirmation->asked, "2,000 steps");
    EXPECT_EQ(result.recommendation()->confirmation->steps, 2000);
    EXPECT_THAT(result.recommendation()->reasons, Contains(Reason::confirmation));
    const tuning::TuneResult again = study.run(options, made);
    EXPECT_EQ(again.trials.size(), result.trials.size());
    EXPECT_EQ(again.recommendation()->confirmation, result.recommendation()->confirmation);
  }
}

TEST(Tune, AnEpochIsAllSamplesOfANativeModel) {
  Study study;
  tuning::TuneOptions options = asked();
  options.confirm.emplace();
  const tuning::TuneResult result = study.run(options, program());
  EXPECT_GE(result.recommendation()->confirmation->steps, largest / right_answer + 1);
  EXPECT_EQ(result.recommendation()->confirmation->asked, "an epoch");
}

// It ran as many updates as the epoch has micro-batches.
TEST(Tune, AnEpochOfAGivenBatchHasAsManyUpdates) {
  Study study;
  tuning::TuneOptions options = asked();
  options.facts.global_batch = 4096;
  options.limits.max = 4096, options.limits.divisor_of = 4096;
  options.confirm.emplace();
  workload::fake::Options made = machine();
  made.samples = 1 << 20;  // 256 updates, and one more
  const tuning::TuneResult result = study.run(options, made);
  ASSERT_GT(result.recommendation()->setting.accumulation, 1);
  EXPECT_EQ(result.recommendation()->confirmation->steps, 257);
}

// Its larger batches leave no memory for an evaluation.
class EvaluatedWorkload : public workload::fake::FakeWorkload, public workload::NativeProbes {
 public:
  using FakeWorkload::FakeWorkload;
  workload::NativeProbes* probes() override { return this; }
  std::optional<core::Bytes> evaluate(const trial::Setting& setting,
                                      const std::atomic<int>&) override {
    evaluated.push_back(setting.batch);
    if (setting.batch > 1500) throw core::OutOfMemory("the device has no memory left");
    return 12345678;
  }
  std::vector<std::int64_t> evaluated;
};

TEST(Tune, AnEpochEndsWithTheModelsEvaluation) {
  Study study;
  tuning::TuneOptions options = asked();
  options.confirm.emplace();
  EvaluatedWorkload workload(program());
  const tuning::TuneResult result = study.run(options, workload);
  EXPECT_EQ(result.recommendation()->batch, 1024);
  ASSERT_TRUE(result.recommendation()->confirmation);
  EXPECT_TRUE(result.recommendation()->confirmation->confirmed);
  EXPECT_EQ(result.recommendation()->confirmation->larger, right_answer);
  EXPECT_GE(result.recommendation()->confirmation->memory, 12345678u);
  EXPECT_THAT(workload.evaluated, testing::ElementsAre(right_answer, 1024));
}

TEST(Tune, StepsAreConfirmedWithoutAnEvaluation) {
  Study study;
  tuning::TuneOptions options = asked();
  options.confirm = tuning::Confirm{200};
  EvaluatedWorkload workload(program());
  EXPECT_TRUE(study.run(options, workload).recommendation()->confirmation->confirmed);
  EXPECT_THAT(workload.evaluated, testing::IsEmpty());
}

TEST(Tune, WhatDoesNotLastIsSteppedDownFrom) {
  workload::fake::Options made = program();
  made.out_of_memory_above = 1500, made.out_of_memory_at_step = 1200;
  Study study;
  tuning::TuneOptions options = asked();
  options.confirm = tuning::Confirm{1500};
  const tuning::TuneResult result = study.run(options, made);
  EXPECT_EQ(result.recommendation()->batch, 1024);
  ASSERT_TRUE(result.recommendation()->confirmation);
  EXPECT_TRUE(result.recommendation()->confirmation->confirmed);
  EXPECT_EQ(result.recommendation()->confirmation->larger, right_answer);
  EXPECT_EQ(result.recommendation()->confirmation->steps, 1500);
  EXPECT_WORDS(words(Reason::confirmation, *result.recommendation()));
}

TEST(Tune, AConfirmationThatIsStoppedLeavesTheAnswer) {
  Study study;
  const tuning::TuneResult before = study.run(asked(), program());
  tuning::TuneOptions options = asked();
  options.confirm = tuning::Confirm{2000};
  HookedWorkload workload(program(), [&](std::int64_t step) {
    if (step == 1000) study.stop = 2;
  });
  const tuning::TuneResult result = study.run(options, workload);
  EXPECT_EQ(result.answer.end, trial::End::stopped);
  expect_stored(study, result);
  EXPECT_EQ(result.recommendation()->batch, before.recommendation()->batch);
  EXPECT_EQ(result.trials.size(), before.trials.size());
  EXPECT_FALSE(result.recommendation()->confirmation->confirmed);
  EXPECT_WORDS(tests::without_numbers(sentence(*result.recommendation())));
}

TEST(Tune, AFinishedStudyIsAnsweredWithoutAStep) {
  for (const auto& made : {machine(), program()}) {
    Study study;
    const tuning::TuneResult first = study.run(asked(), made);
    const std::string answer = study.kept.study.answer;
    HookedWorkload again(made, {});
    const tuning::TuneResult second = study.run(asked(), again);
    EXPECT_EQ(again.steps(), 0);
    EXPECT_EQ(second.answer.end, trial::End::found);
    EXPECT_EQ(second.resumed, first.trials.size());
    EXPECT_EQ(second.trials.size(), first.trials.size());
    EXPECT_EQ(*second.recommendation(), *first.recommendation());
    EXPECT_EQ(study.kept.study.answer, answer);
  }
}

// A machine whose device counts its energy.
struct PoweredMachine : telemetry::Machine {
  struct PowerMeter : telemetry::Meter {
    trial::Reading read() override { return {0, 0.9, 100, 20.0}; }
    std::optional<double> energy_joules() override { return joules += 1; }
    double energy_interval_seconds() const override { return 1e-6; }
    double joules = 0;
  };
  double now() override { return 0; }
  double seconds_since_1970() override { return 1.7e9; }
  probe::proc::Load load() override { return {}; }
  probe::cpu::SpeedReading speed() override { return {1e9, 1e9}; }
  std::unique_ptr<telemetry::Meter> meter(const std::string&) override {
    return std::make_unique<PowerMeter>();
  }
};

TEST(Tune, EnergyIsReadOnceWhenTheRoundsAreOver) {
  PoweredMachine powered;
  powered.reading_interval_seconds = 0;
  tuning::TuneOptions options = asked();
  options.loop.machine = &powered;
  Study study;
  const tuning::TuneResult first = study.run(options);
  const auto has_energy = [](const trial::Trial& trial) { return trial.energy_joules.has_value(); };
  EXPECT_GT(std::ranges::count_if(first.trials, has_energy), 0);
  HookedWorkload again(machine(), {});
  EXPECT_EQ(study.run(options, again).trials.size(), first.trials.size());
  EXPECT_EQ(again.steps(), 0);
}

// Virtual time: the same study gives the same result, whatever else this machine does.
TEST(Tune, WhatTheMachineDoesIsNothingToAFake) {
  Study study;
  for (const trial::Trial& trial : study.run(asked()).trials) {
    EXPECT_FALSE(trial.contention.contended);
    EXPECT_FALSE(trial.contention.cpu_pressure_share);
    EXPECT_FALSE(trial.contention.slowed_share);
  }
}

// Its clock leaps between any two steps.
struct StarvedMachine final : telemetry::Machine {
  double time = 0;
  double now() override { return time += 0.1; }
  double seconds_since_1970() override { return 1.7e9 + time; }
  probe::proc::Load load() override { return {}; }
  probe::cpu::SpeedReading speed() override { return {1e9, 1e9}; }
  std::unique_ptr<telemetry::Meter> meter(const std::string&) override { return nullptr; }
};

TEST(Tune, AStarvedMachineMeasuresAFakeAsAnyOther) {
  StarvedMachine starved;
  tuning::TuneOptions options = asked();
  Study here, there;
  const tuning::TuneResult usual = here.run(options);
  options.loop.machine = &starved;
  const tuning::TuneResult result = there.run(options);
  EXPECT_EQ(result.recommendation()->batch, usual.recommendation()->batch);
  EXPECT_EQ(rounds_by_batch(result.trials), rounds_by_batch(usual.trials));
}

// The right answer is within the tolerance by a tenth of a percent.
TEST(Tune, DriftThatAllBatchesShareSeldomChangesTheAnswer) {
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    workload::fake::Options made = machine();
    made.seed = seed;
    made.drift_share = 0.1, made.drift_seconds = 7;
    Study study;
    right += study.run(asked(), made).recommendation()->batch == right_answer;
  }
  EXPECT_GE(right, 9);
}

// They come and go within a round, so that they do not affect all of it alike.
TEST(Tune, NeighboursSeldomChangeTheAnswer) {
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    workload::fake::Options made = machine();
    made.seed = seed;
    made.neighbour_share = 0.3, made.neighbour_seconds = 0.5, made.neighbour_slowdown = 1.4;
    Study study;
    right += study.run(asked(), made).recommendation()->batch == right_answer;
  }
  EXPECT_GE(right, 16);
}

TEST(Tune, ProgramsCutAnywhereEndWithTheSameAnswer) {
  workload::fake::Options repeatable = program();
  repeatable.noise_share = 0;  // the second run of a batch would be the first of a resumed study
  Study whole;
  const tuning::TuneResult truth = whole.run(asked(), repeatable);
  ASSERT_GT(truth.trials.size(), 5u);
  for (std::size_t cut = 0; cut < truth.trials.size(); ++cut) {
    Study study;
    study.kept.study.trials.assign(truth.trials.begin(),
                                   truth.trials.begin() + static_cast<std::ptrdiff_t>(cut));
    const tuning::TuneResult resumed = study.run(asked(), repeatable);
    EXPECT_EQ(resumed.recommendation()->setting, truth.recommendation()->setting) << cut;
    EXPECT_EQ(resumed.trials.size(), truth.trials.size());
  }
}

// A machine on which more measuring always pays.
workload::fake::Options noisy(std::uint64_t seed) {
  workload::fake::Options made = machine();
  made.noise_share = 0.1, made.seed = seed;
  made.neighbour_share = 0.3, made.neighbour_slowdown = 1.3;
  return made;
}

TEST(Tune, MoreBudgetMakesItSurerAndItSaysWhetherItChanged) {
  double regret_before = 0, regret_after = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Study study;
    tuning::TuneOptions options = asked();
    options.loop.budget = core::Seconds(2);
    const tuning::TuneResult first = study.run(options, noisy(seed));
    ASSERT_TRUE(first.recommendation());
    options.loop.budget = core::Seconds(20);
    const tuning::TuneResult second = study.run(options, noisy(seed));
    expect_stored(study, second);
    EXPECT_GT(last_round(second.trials), last_round(first.trials));
    EXPECT_EQ(second.resumed, first.trials.size());
    regret_before += first.recommendation()->regret,
        regret_after += second.recommendation()->regret;
    const bool same = second.recommendation()->batch == first.recommendation()->batch;
    EXPECT_EQ(second.recommendation()->previous_batch,
              same ? std::nullopt : std::optional(first.recommendation()->batch));
    const auto& reasons = second.recommendation()->reasons;
    EXPECT_EQ(std::ranges::count(reasons, Reason::changed), same ? 0 : 1) << seed;
    for (const auto& [batch, rounds] : rounds_by_batch(second.trials))
      EXPECT_EQ(std::set(rounds.begin(), rounds.end()).size(), rounds.size())
          << "rounds of batch " << batch << " go on counting";
  }
  EXPECT_LT(regret_after, regret_before);
}

TEST(Tune, AnAnswerThatIsClearlyWorseIsGivenUpAndThatIsSaid) {
  Study study;
  tuning::TuneOptions options = asked();
  options.loop.budget = core::Seconds(2);
  tuning::TuneResult first = study.run(options, noisy(1));
  ASSERT_TRUE(first.recommendation());
  auto& made = std::get<advise::Recommendation>(first.answer.content);
  made.batch = made.setting.batch = 1;
  study.kept.study.answer = advise::to_json(first.answer);
  options.loop.budget = core::Seconds(4);
  const tuning::TuneResult second = study.run(options, noisy(1));
  EXPECT_GT(second.recommendation()->batch, 1);
  EXPECT_EQ(second.recommendation()->previous_batch, 1);
  EXPECT_EQ(std::ranges::count(second.recommendation()->reasons, Reason::changed), 1);
}

TEST(Tune, TheFirstPressFinishesTheRoundAndAnswers) {
  Study study;
  HookedWorkload workload(machine(), [&](std::int64_t step) {
    if (step == 800) study.stop = 1;
  });
  const tuning::TuneResult result = study.run(asked(), workload);
  EXPECT_EQ(result.answer.end, trial::End::stopped);
  EXPECT_GT(workload.steps(), 801);
  expect_stored(study, result);
  EXPECT_EQ(result.recommendation()->cut_short, trial::End::stopped);
  EXPECT_THAT(result.recommendation()->reasons, Contains(Reason::cut_short));
  EXPECT_EQ(study.kept.study.end, trial::End::stopped);
  // Of those that were interleaved, none has missed the last round.
  const std::int32_t last = last_round(result.trials);
  for (const auto& [batch, rounds] : rounds_by_batch(result.trials)) {
    if (rounds.size() < 2 || rounds.end()[-2] < last - 2) continue;
    EXPECT_EQ(rounds.back(), last) << batch;
  }
}

// At any point of a round: what was done counts, and no further step runs.
TEST(Tune, TheSecondPressKeepsWhatWasDoneAndAnswers) {
  for (const std::int64_t at : {200, 301, 320, 350, 500}) {
    Study study;
    HookedWorkload workload(machine(), [&](std::int64_t step) {
      if (step == at) study.stop = 2;
    });
    const tuning::TuneResult result = study.run(asked(), workload);
    EXPECT_EQ(result.answer.end, trial::End::stopped);
    EXPECT_EQ(workload.steps(), at + 1);
    expect_stored(study, result);
    EXPECT_EQ(result.recommendation()->cut_short, trial::End::stopped);
    for (const trial::Trial& trial : study.kept.study.trials) {
      EXPECT_EQ(trial.outcome, Outcome::ok);
      EXPECT_TRUE(trial.samples_per_second);
    }
    // It resumes, and ends as if nothing had happened.
    study.stop = 0;
    const tuning::TuneResult resumed = study.run(asked());
    EXPECT_EQ(resumed.answer.end, trial::End::found);
    EXPECT_EQ(resumed.recommendation()->batch, right_answer) << at;
    EXPECT_EQ(resumed.recommendation()->cut_short, std::nullopt);
    for (const auto& [batch, rounds] : rounds_by_batch(resumed.trials))
      EXPECT_EQ(std::set(rounds.begin(), rounds.end()).size(), rounds.size()) << batch;
  }
}

TEST(Tune, APressBeforeTheFirstBlockLeavesNothing) {
  Study study;
  HookedWorkload workload(machine(), [&](std::int64_t) { study.stop = 2; });
  const tuning::TuneResult result = study.run(asked(), workload);
  EXPECT_EQ(result.answer.end, trial::End::stopped);
  EXPECT_FALSE(result.recommendation());
  EXPECT_TRUE(study.kept.study.trials.empty());
  EXPECT_WORDS(result.answer.message);
}

TEST(Tune, APressStopsAProgramsTrialAndKeepsTheOthers) {
  for (const int presses : {1, 2}) {
    Study study;
    std::int64_t at = 0;
    HookedWorkload workload(program(), [&](std::int64_t step) {
      if (study.kept.study.trials.size() == 1 && at == 0) at = step;
      if (at > 0) study.stop = presses;
    });
    const tuning::TuneResult result = study.run(asked(), workload);
    EXPECT_EQ(result.answer.end, trial::End::stopped);
    EXPECT_EQ(result.trials.size(), presses == 1 ? 2u : 1u);
    if (presses == 1) expect_stored(study, result);
    // One batch alone has nothing to be compared with.
    if (presses == 2) {
      EXPECT_FALSE(result.recommendation());
      EXPECT_WORDS(result.answer.message);
      EXPECT_EQ(study.kept.study.end, trial::End::stopped);
    }
  }
}

TEST(Tune, OneBatchRunsOutOfMemoryAndTheOthersGoOn) {
  workload::fake::Options made = machine();
  made.out_of_memory_above = 3000;
  made.out_of_memory_at_step = 8;  // after its first block
  tuning::TuneOptions options = asked();
  options.limits.memory.limit.reset();
  Study study;
  const tuning::TuneResult result = study.run(options, made);
  EXPECT_EQ(result.answer.end, trial::End::found);
  expect_stored(study, result);
  EXPECT_LE(result.recommendation()->batch, 3000);
  EXPECT_GT(true_share(result, 3000), 0.94);
  std::size_t failed = 0;
  for (const trial::Trial& trial : result.trials) {
    EXPECT_EQ(trial.outcome, trial.setting.batch > 3000 ? Outcome::out_of_memory : Outcome::ok);
    failed += trial.outcome != Outcome::ok;
  }
  EXPECT_GE(failed, 1u);
  EXPECT_GE(rounds_by_batch(result.trials).at(result.recommendation()->batch).size(),
            experiment::least_rounds);
  for (const advise::BatchRow& row : result.recommendation()->rows)
    EXPECT_EQ(row.outcome, row.batch > 3000 ? Outcome::out_of_memory : Outcome::ok);
}

TEST(Tune, TheBudgetsEndLeavesTheBestKnown) {
  for (const auto& made : {machine(), program()}) {
    Study study;
    tuning::TuneOptions options = asked();
    int asks = 0;
    options.loop.budget = core::Seconds(10);
    options.loop.now = [&] { return core::Seconds(++asks < 20 ? 0 : 11); };
    const tuning::TuneResult result = study.run(options, made);
    EXPECT_EQ(result.answer.end, trial::End::budget);
    expect_stored(study, result);
    EXPECT_EQ(result.recommendation()->cut_short, trial::End::budget);
    EXPECT_EQ(result.recommendation()->budget_seconds, 10);
    EXPECT_EQ(study.kept.study.end, trial::End::budget);
  }
}

// Wherever the budget ends.
TEST(Tune, TheOnlyBatchAllowedNeedsNoOtherToCompareItWith) {
  int cut = 0;
  for (int last = 1; last < 30; ++last) {
    Study study;
    tuning::TuneOptions options = asked();
    options.limits.min = options.limits.max = 64;
    int asks = 0;
    options.loop.budget = core::Seconds(10);
    options.loop.now = [&] { return core::Seconds(++asks <= last ? 0 : 11); };
    const tuning::TuneResult result = study.run(options, program());
    if (result.trials.empty()) continue;
    ASSERT_TRUE(result.recommendation()) << last;
    EXPECT_EQ(result.recommendation()->batch, 64);
    cut += result.recommendation()->cut_short == trial::End::budget;
  }
  EXPECT_GT(cut, 0);
}

TEST(Tune, ABudgetIsKeptTo) {
  for (const double budget : {1.0, 5.0, 40.0}) {
    Study study;
    tuning::TuneOptions options = asked();
    options.loop.budget = core::Seconds(budget);
    FakeWorkload workload(noisy(3));
    const tuning::TuneResult result = study.run(options, workload);
    EXPECT_TRUE(result.recommendation());
    // The coarse scan and the last round come on top.
    EXPECT_LE(workload.seconds_passed(), budget + 3) << budget;
  }
}

TEST(Tune, WithoutABudgetItEndsByItself) {
  FakeWorkload workload(noisy(3));
  Study study;
  EXPECT_EQ(study.run(asked(), workload).answer.end, trial::End::found);
  EXPECT_LE(workload.seconds_passed(), experiment::cpu_limit_seconds + 3);
}

TEST(Tune, ABudgetThatEndsAtOnceSaysSo) {
  Study study;
  tuning::TuneOptions options = asked();
  options.loop.budget = core::Seconds(0);
  const tuning::TuneResult result = study.run(options);
  EXPECT_EQ(result.answer.end, trial::End::budget);
  EXPECT_FALSE(result.recommendation());
  EXPECT_WORDS(result.answer.message);
}

TEST(Tune, AStoreThatFailsEndsItWithItsSentence) {
  for (const auto& made : {machine(), program()}) {
    Study study;
    study.kept.room = 2;
    const tuning::TuneResult result = study.run(asked(), made);
    EXPECT_EQ(result.answer.end, trial::End::store_failed);
    EXPECT_EQ(result.answer.message, "the disk is full");
    EXPECT_LE(study.kept.study.trials.size(), 2u);
    EXPECT_GT(result.trials.size(), 2u);
    ASSERT_TRUE(result.recommendation());  // from what was measured
    EXPECT_EQ(result.recommendation()->cut_short, trial::End::store_failed);
  }
}

// A fake whose device is gone when a given session opens.
struct LosesItsDevice : FakeWorkload {
  int left;
  LosesItsDevice(const workload::fake::Options& options, int sessions)
      : FakeWorkload(options), left(sessions) {}
  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override {
    if (left-- == 0) throw core::DeviceLost("the GPU was lost; look at nvidia-smi");
    return FakeWorkload::open(setting);
  }
  std::string device() const override { return "cuda:0"; }
};

TEST(Tune, ALostDeviceEndsItWithWhatIsKnown) {
  for (const auto& made : {machine(), program()}) {
    Study study;
    LosesItsDevice workload(made, 3);
    const tuning::TuneResult result = study.run(asked(), workload);
    EXPECT_EQ(result.answer.end, trial::End::device_lost);
    EXPECT_EQ(result.answer.message, "the GPU was lost; look at nvidia-smi");
    EXPECT_EQ(study.kept.study.trials.size(), 3u) << "what was done is kept, the lost one is not";
    EXPECT_EQ(study.kept.study.trials[0].device, "cuda:0");
    EXPECT_EQ(study.kept.study.end, trial::End::device_lost);
    EXPECT_TRUE(result.recommendation());
  }
}

TEST(Tune, NothingFitsIsToldWithoutARun) {
  Study study;
  tuning::TuneOptions options = asked();
  options.limits.memory.limit = 1000;
  const tuning::TuneResult result = study.run(options);
  EXPECT_EQ(result.answer.end, trial::End::nothing_feasible);
  EXPECT_TRUE(result.trials.empty());
  EXPECT_WORDS(result.answer.message);
}

TEST(Tune, NeverLaunchesWhatIsPredictedNotToFit) {
  Study study;
  tuning::TuneOptions options = asked();
  options.limits.memory.limit = core::MiB + 500 * core::KiB;
  for (const trial::Trial& trial : study.run(options).trials) EXPECT_LE(trial.setting.batch, 500);
}

TEST(Tune, MaxBatchIsTheLargestThatFits) {
  Study study;
  tuning::TuneOptions options = asked();
  options.limits.objective = search::Objective::max_batch;
  options.limits.memory.limit = core::MiB + 500 * core::KiB;
  const tuning::TuneResult result = study.run(options);
  expect_stored(study, result);
  EXPECT_EQ(result.recommendation()->batch, 500);
}

// Evaluation takes as much again as training.
struct Evaluating : FakeWorkload {
  using FakeWorkload::FakeWorkload;
  std::optional<core::Bytes> predict(const trial::Setting& setting,
                                     workload::Extent extent) const override {
    return (extent == workload::Extent::whole_run ? 2 : 1) *
           *FakeWorkload::predict(setting, extent);
  }
};

// It printed a command that took 205 of 200 MiB.
TEST(Tune, ALimitHoldsForTheRunThatIsRecommended) {
  for (const search::Objective objective :
       {search::Objective::max_batch, search::Objective::throughput}) {
    Study study;
    tuning::TuneOptions options = asked();
    options.limits.objective = objective;
    options.limits.memory.limit = 2 * (core::MiB + 500 * core::KiB);
    Evaluating workload(machine());
    const tuning::TuneResult result = study.run(options, workload);
    ASSERT_TRUE(result.recommendation());
    EXPECT_LE(*workload.predict(result.recommendation()->setting, workload::Extent::whole_run),
              *options.limits.memory.limit);
    EXPECT_EQ(result.recommendation()->memory_bytes,
              workload.predict(result.recommendation()->setting, workload::Extent::whole_run));
    EXPECT_EQ(result.recommendation()->largest_batch, 500);
    if (objective == search::Objective::throughput) continue;
    EXPECT_EQ(result.recommendation()->batch, 500);
  }
}

TEST(Tune, ChecksTheLoaderAdviceOnceAndResumesThat) {
  workload::fake::Options waiting = machine();
  waiting.data_wait_share = 0.5;
  Study study;
  const tuning::TuneResult result = study.run(asked(), waiting);
  ASSERT_TRUE(result.facts.loader_check);
  EXPECT_GT(result.facts.loader_check->workers, 1);
  const auto is_check = [&](const trial::Trial& trial) {
    return trial.setting.configuration.workers > 1;
  };
  EXPECT_EQ(std::ranges::count_if(result.trials, is_check), 1);
  // The fake waits equally long with any number of workers: the advice does not help and is not
  // given.
  EXPECT_EQ(result.recommendation()->setting.configuration.workers, 1);
  const tuning::TuneResult again = study.run(asked(), waiting);
  EXPECT_EQ(again.trials.size(), result.trials.size());
  EXPECT_TRUE(again.facts.loader_check);
}

// A program without {workers} waits for data, and none of our flags could change that.
TEST(Tune, WorkersAreNotAdvisedToWhatHasNone) {
  struct Loaderless : FakeWorkload {
    using FakeWorkload::FakeWorkload;
    workload::About about() const override {
      workload::About about = FakeWorkload::about();
      about.has_loader = false;
      return about;
    }
  };
  workload::fake::Options waiting = machine();
  waiting.data_wait_share = 0.5;
  Study study;
  Loaderless workload(waiting);
  const tuning::TuneResult result = study.run(asked(), workload);
  EXPECT_FALSE(result.facts.loader_check);
  for (const trial::Trial& trial : result.trials) EXPECT_EQ(trial.setting.configuration.workers, 1);
  EXPECT_THAT(result.recommendation()->reasons, Not(Contains(Reason::loader)));
  EXPECT_THAT(result.recommendation()->reasons, Not(Contains(Reason::loading_below)));
}

// Its operations are known; one takes almost the whole step and could take nothing.
struct Weak : FakeWorkload, workload::NativeProbes {
  using FakeWorkload::FakeWorkload;
  workload::NativeProbes* probes() override { return this; }
  std::vector<trial::OperationCost> operations(const trial::Setting& setting) override {
    looked_at.push_back(setting.batch);
    return {{"conv2d", "convolution", 0.001, 1e6, 1e3}, {"norm", "normalisation", 0.1, 1e6, 1e3}};
  }
  std::vector<std::int64_t> looked_at;
};

TEST(Tune, SaysThatAKernelOfOursIsSlowAtTheAnswer) {
  Study study;
  Weak workload(machine());
  tuning::TuneOptions options = asked();
  options.operations_roofline = {1e9, std::nullopt};
  const tuning::TuneResult result = study.run(options, workload);
  ASSERT_TRUE(result.recommendation());
  EXPECT_EQ(workload.looked_at, std::vector{result.recommendation()->batch}) << "once";
  ASSERT_TRUE(result.recommendation()->slow_kernel);
  EXPECT_EQ(result.recommendation()->slow_kernel->operation, "norm");
  EXPECT_NEAR(result.recommendation()->slow_kernel->times_floor, 100, 1e-9);
  EXPECT_THAT(result.recommendation()->reasons, Contains(Reason::slow_kernel));
}

TEST(Tune, KernelsAreNotJudgedWhereTheMachineIsNotKnown) {
  Study study;
  Weak workload(machine());
  const tuning::TuneResult result = study.run(asked(), workload);
  EXPECT_TRUE(workload.looked_at.empty());
  EXPECT_THAT(result.recommendation()->reasons, Not(Contains(Reason::slow_kernel)));
}

TEST(Tune, TheAnswerStandsWhereItsOperationsCannotBeLookedAt) {
  struct Unwilling : FakeWorkload, workload::NativeProbes {
    using FakeWorkload::FakeWorkload;
    workload::NativeProbes* probes() override { return this; }
    std::vector<trial::OperationCost> operations(const trial::Setting&) override {
      throw core::MachineError("no memory is left");
    }
  };
  Study study;
  Unwilling workload(machine());
  tuning::TuneOptions options = asked();
  options.operations_roofline = {1e9, std::nullopt};
  const tuning::TuneResult result = study.run(options, workload);
  EXPECT_EQ(result.answer.end, trial::End::found);
  EXPECT_THAT(result.recommendation()->reasons, Not(Contains(Reason::slow_kernel)));
}

TEST(Tune, AGivenBatchIsKeptAndItsMicroBatchSearched) {
  Study study;
  tuning::TuneOptions options = asked();
  options.facts.global_batch = 3000;
  options.limits.max = 3000, options.limits.divisor_of = 3000;
  workload::fake::Options made = machine();
  made.per_sample_seconds = 1e-4;  // the knee is at 243: of 3,000's divisors, 250 comes next
  const tuning::TuneResult result = study.run(options, made);
  expect_stored(study, result);
  for (const trial::Trial& trial : result.trials) {
    EXPECT_EQ(trial.setting.batch, 3000);
    EXPECT_EQ(3000 % trial.setting.accumulation, 0);
  }
  EXPECT_EQ(result.recommendation()->setting.batch, 3000);
  EXPECT_EQ(result.recommendation()->global_batch, 3000);
  EXPECT_EQ(result.recommendation()->batch, result.recommendation()->setting.micro_batch());
  EXPECT_GE(result.recommendation()->batch, 200);
  EXPECT_LE(result.recommendation()->batch, 375);
  EXPECT_THAT(result.recommendation()->reasons, Contains(Reason::accumulation));
  EXPECT_EQ(advise::size_word(*result.recommendation()), "micro-batch");
  EXPECT_EQ(study.run(options, made).trials.size(), result.trials.size()) << "nothing is repeated";
}

TEST(Tune, WorkersAreSearchedWhereLoadingLimits) {
  workload::fake::Options slow_loading = machine();
  slow_loading.load_seconds_per_sample = 2.9e-5;  // three workers hide it behind 1e-5 of compute
  tuning::TuneOptions options = asked();
  options.most_workers = 16;
  Study study;
  const tuning::TuneResult result = study.run(options, slow_loading);
  expect_stored(study, result);
  EXPECT_EQ(result.recommendation()->setting.configuration.workers, 4);
  ASSERT_TRUE(result.recommendation()->worker_search);
  // The knee is that of the curve with those workers, not of the flat one with a single one.
  EXPECT_GT(true_share(result), 0.94);
  EXPECT_EQ(study.run(options, slow_loading).trials.size(), result.trials.size());
}

TEST(Tune, WorkersAreLeftAloneWhereLoadingIsHidden) {
  tuning::TuneOptions options = asked();
  options.most_workers = 16;
  workload::fake::Options made = machine();
  made.data_wait_share = 0.01;
  Study study;
  for (const trial::Trial& trial : study.run(options, made).trials)
    EXPECT_EQ(trial.setting.configuration.workers, 1);
}

TEST(Tune, TheAnswersCommandTrainsAtItsSetting) {
  Study study;
  tuning::TuneOptions options = asked();
  options.command = [](const trial::Setting& setting) {
    return "train --batch " + std::to_string(setting.batch);
  };
  const tuning::TuneResult result = study.run(options);
  EXPECT_EQ(result.recommendation()->command, "train --batch 2048");
  expect_stored(study, result);
}

// A program that is given one batch and may use another.
class Deaf : public FakeWorkload {
 public:
  using Used = std::function<std::int64_t(std::int64_t)>;
  Deaf(const workload::fake::Options& options, Used used)
      : FakeWorkload(options), used_(std::move(used)) {}
  workload::About about() const override {
    workload::About about = FakeWorkload::about();
    about.batch_destination = "as argument 3";
    return about;
  }
  std::optional<core::Bytes> predict(const trial::Setting&, workload::Extent) const override {
    return std::nullopt;
  }
  std::unique_ptr<workload::Session> open(const trial::Setting& setting) override {
    trial::Setting really = setting;
    really.batch = used_(setting.batch);
    return std::make_unique<tests::ReportsAnotherBatch>(FakeWorkload::open(really), setting.batch);
  }

 private:
  Used used_;
};

TEST(Tune, AProgramThatIgnoresItsBatchGetsAQuestionAndNoAnswer) {
  Deaf deaf(program(), [](std::int64_t) { return 64; });
  Study study;
  tuning::TuneOptions options = asked();
  const tuning::TuneResult result = study.run(options, deaf);
  EXPECT_EQ(result.answer.end, trial::End::batch_unconfirmed);
  EXPECT_FALSE(result.recommendation());
  ASSERT_TRUE(result.answer.get<advise::Doubt>());
  EXPECT_EQ(result.answer.get<advise::Doubt>()->destination, "as argument 3");
  EXPECT_WORDS(tests::without_numbers(result.answer.message));
  ASSERT_TRUE(result.answer.get<advise::Doubt>());
  EXPECT_EQ(tests::stored<advise::Doubt>(study.kept), *result.answer.get<advise::Doubt>());
  EXPECT_EQ(study.kept.study.trials.size(), result.trials.size());
  // If the user says that it arrives, nothing is measured again.
  HookedWorkload known(program(), {});
  const tuning::TuneResult second = study.run(options, known);
  EXPECT_EQ(second.answer.end, trial::End::found);
  EXPECT_EQ(second.resumed, result.trials.size());
}

TEST(Tune, AProgramThatUsesItsBatchIsNotAsked) {
  Deaf heard(program(), [](std::int64_t batch) { return batch; });
  Study study;
  const tuning::TuneResult result = study.run(asked(), heard);
  EXPECT_EQ(result.answer.end, trial::End::found);
  EXPECT_EQ(result.recommendation()->batch, right_answer);
}

// Its steps plateau between two batches, as when other kernels take over, and grow again.
TEST(Tune, APlateauOfItsStepsIsNoClamp) {
  Deaf resting(program(), [](std::int64_t batch) {
    return batch <= 256 || batch > 1024 ? batch : std::int64_t{256};
  });
  Study study;
  const tuning::TuneResult result = study.run(asked(), resting);
  ASSERT_EQ(result.answer.end, trial::End::found);
  EXPECT_FALSE(result.recommendation()->clamp_batch);
  EXPECT_GT(result.recommendation()->batch, 256);
  for (const trial::Trial& trial : study.kept.study.trials)
    EXPECT_EQ(trial.outcome, Outcome::ok) << trial.setting.batch;
}

TEST(Tune, NoBatchAboveAClampIsRecommended) {
  Deaf deaf(program(), [](std::int64_t batch) { return std::min<std::int64_t>(batch, 512); });
  Study study;
  const tuning::TuneResult result = study.run(asked(), deaf);
  ASSERT_EQ(result.answer.end, trial::End::found);
  EXPECT_LE(result.recommendation()->batch, 512);
  EXPECT_EQ(result.recommendation()->clamp_batch, 512);
  EXPECT_THAT(result.recommendation()->reasons, Contains(Reason::clamped));
  for (const trial::Trial& trial : study.kept.study.trials) {
    if (trial.setting.batch <= 512) continue;
    EXPECT_EQ(trial.outcome, Outcome::refused);
    EXPECT_TRUE(trial.samples_per_second && !trial.raw.empty()) << "what was measured is kept";
  }
  // If the user says that there is no clamp, all of it counts.
  HookedWorkload known(program(), {});
  const tuning::TuneResult second = study.run(asked(), known);
  EXPECT_EQ(second.resumed, result.trials.size());
  EXPECT_FALSE(second.recommendation()->clamp_batch);
  EXPECT_GT(second.recommendation()->rows.back().batch, 512);
  for (const trial::Trial& trial : study.kept.study.trials)
    EXPECT_EQ(trial.outcome, Outcome::ok) << trial.setting.batch;
}

}  // namespace
}  // namespace sweetspot::study
