// The answer from made-up trials with a known truth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "search/evidence.h"
#include "search/knee.h"
#include "search/made.h"
#include "stats/quantile.h"

namespace sweetspot::search {
namespace {

// 2 ms and 20 µs a sample, measured to 0.1%, in a range where 95% of the best begin at 970.
constexpr std::int64_t range_of_970 = 2086;
double speed_of_970(std::int64_t batch) {
  const double b = static_cast<double>(batch);
  return b / (2e-3 + 20e-6 * b);
}

std::vector<trial::Trial> measured_970(const std::vector<std::int64_t>& batches) {
  std::vector<trial::Trial> trials;
  for (const std::int64_t batch : batches)
    trials.push_back(in_rounds(batch, speed_of_970(batch), 40, 0.001));
  return trials;
}

TEST(Decision, TheMadeCurveHasItsKneeAt970) {
  const double level = 0.95 * speed_of_970(range_of_970);
  EXPECT_LT(speed_of_970(969), level);
  EXPECT_GE(speed_of_970(971), level);
}

// It used to be 1,280, "between 768 and 1,280".
TEST(Decision, AnExactProgramIsAnsweredWithThePowerOfTwoNextToItsKnee) {
  const auto turns = study_in_rounds({.max = range_of_970}, speed_of_970, 0.001);
  ASSERT_TRUE(turns.decision);
  EXPECT_EQ(turns.decision->batch, 1024);
  EXPECT_LE(turns.decision->knee_low, 970);
  EXPECT_GE(turns.decision->knee_high, 970);
  const auto program =
      study({.max = range_of_970}, [](auto b) { return ok(b, speed_of_970(b), 0.001); });
  ASSERT_TRUE(program.decision);
  EXPECT_EQ(program.decision->batch, 1024);
  EXPECT_LE(program.decision->knee_low, 970);
  EXPECT_GE(program.decision->knee_high, 970);
}

// As with several power limits, where another one's speed is the level. It used to read beyond the
// curve.
TEST(Decision, ASpeedElsewhereThatNoSizeReachesLeavesTheKneeAtTheLargest) {
  const auto decision = decide(measured_970({1, 16, 128, 960, 1024, range_of_970}),
                               {.max = range_of_970, .best_elsewhere = 2 * speed_of_970(1024)}, {});
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->batch, range_of_970);
  EXPECT_EQ(decision->knee_low, range_of_970);
  EXPECT_EQ(decision->knee_high, range_of_970);
}

TEST(Decision, AmongEqualsAPowerOfTwoElseTheSmaller) {
  const Limits limits{.max = range_of_970};
  // 960 and 1,024 lose 0.05% and 0.15%.
  EXPECT_EQ(decide(measured_970({1, 16, 128, 960, 1024, range_of_970}), limits, {})->batch, 1024);
  // 945 and 1,010 lose 0.2% and 0.1%.
  EXPECT_EQ(decide(measured_970({1, 16, 128, 945, 1010, range_of_970}), limits, {})->batch, 945);
}

// An H200's rgb64-cnn, whose knee is at 1,461: it answered 1536, and 2048 in a noisier minute.
TEST(Decision, ASlightlyNoisierGpuIsAnsweredAlike) {
  const std::map<std::int64_t, double> speeds = {
      {1, 14800},      {16, 185000},    {64, 489000},    {256, 617000},   {1024, 985600},
      {1280, 938100},  {1536, 1098400}, {1792, 1089800}, {2048, 1107600}, {3072, 1068900},
      {4096, 1105800}, {8192, 1108100}, {10000, 1063500}};
  for (const double deviation : {0.001, 0.004, 0.006}) {
    std::vector<trial::Trial> trials;
    for (const auto& [batch, speed] : speeds)
      trials.push_back(on_gpu(in_rounds(batch, speed, 8, deviation)));
    EXPECT_EQ(decide(trials, {.max = 10000}, {})->batch, 1536) << deviation;
  }
}

// With two answers of about equal cost, tunes gave either one.
TEST(Decision, WhatTheAnswerTurnsOnIsMeasuredFurther) {
  const Limits limits{.max = 2048};
  const auto plan = [&](double share_of_64) {
    std::vector<trial::Trial> trials;
    for (const std::int64_t batch : {1, 16, 32, 64, 128, 256, 512, 2048})
      trials.push_back(in_rounds(batch,
                                 batch == 1    ? 100
                                 : batch == 16 ? 600
                                 : batch == 32 ? 800
                                 : batch == 64 ? 1000 * share_of_64
                                               : 1000,
                                 200, 0.05));
    return search::plan(trials, limits, {}, in_place);
  };
  const Plan open = plan(0.95);
  EXPECT_FALSE(open.settled);
  EXPECT_THAT(open.batches, testing::IsSupersetOf({64, 128}));
  EXPECT_TRUE(plan(0.85).settled);
  EXPECT_EQ(plan(0.85).decision->batch, 128);
}

TEST(Decision, ThePreviousAnswerIsKeptAmongEqualsOnly) {
  const auto trials = measured_970({1, 16, 128, 512, 960, 1024, range_of_970});
  EXPECT_EQ(decide(trials, {.max = range_of_970, .previous = 960}, {})->batch, 960);
  EXPECT_EQ(decide(trials, {.max = range_of_970, .previous = 512}, {})->batch, 1024)
      << "it is slower by 12%";
  EXPECT_EQ(decide(trials, {.max = range_of_970, .previous = range_of_970}, {})->batch, 1024)
      << "it is twice as large as it need be";
  EXPECT_EQ(decide(trials, {.max = range_of_970, .previous = 77}, {})->batch, 1024)
      << "it was never measured";
}

// Random trials of random curves, as few as a short budget leaves.
struct Made {
  std::vector<trial::Trial> trials;
  Limits limits;
};
Made random_trials(std::uint32_t number) {
  const core::Random random(11, core::Purpose::synthetic, number);
  std::uint64_t next = 0;
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random.uniform(next++));
  };
  Made made;
  made.limits.max = static_cast<std::int64_t>(std::exp2(uniform(2, 14)));
  const double fixed = std::exp2(uniform(-2, 8)), noise = std::exp(uniform(-7, -1.5));
  const bool rounds = uniform(0, 1) < 0.5;
  const int count = static_cast<int>(uniform(1, 9));
  for (int i = 0; i < count; ++i) {
    const auto batch = static_cast<std::int64_t>(
        std::exp2(uniform(0, std::log2(static_cast<double>(made.limits.max)))));
    const double speed = line_speed(batch, fixed) * std::exp(noise * random.normal(next++));
    if (rounds)
      made.trials.push_back(
          in_rounds(batch, speed, static_cast<std::int32_t>(uniform(1, 30)), noise, number));
    else
      made.trials.push_back(ok(batch, speed, 2 * noise));
    if (!rounds && uniform(0, 1) < 0.2) made.trials.back() = contended(made.trials.back());
  }
  return made;
}

TEST(Decision, LiesWithinItsOwnBoundsWhateverWasMeasured) {
  for (std::uint32_t number = 0; number < 150; ++number) {
    const Made made = random_trials(number);
    const auto found = decide(made.trials, made.limits, {});
    ASSERT_TRUE(found);
    EXPECT_GE(found->batch, found->knee_low) << number;
    EXPECT_LE(found->batch, found->knee_high) << number;
    EXPECT_GE(found->batch, found->alike_low) << number;
    EXPECT_LE(found->batch, found->alike_high) << number;
    EXPECT_GE(found->regret, 0) << number;
    EXPECT_EQ(found->chosen().batch, found->batch) << number;
    for (const BatchSpeed& speed : found->speeds) {
      EXPECT_TRUE(std::isfinite(speed.samples_per_second.mean)) << number;
      EXPECT_LE(speed.share.high, 1) << number << ": each curve has its own best";
      EXPECT_LE(speed.samples_per_second.low, speed.samples_per_second.high);
      EXPECT_GE(speed.within_tolerance, 0);
      EXPECT_LE(speed.within_tolerance, 1);
    }
  }
}

// Batch 256 was recommended although 16 was faster by its own table.
TEST(Decision, IsNeverSlowerAndLargerThanAnotherByItsOwnFigures) {
  for (std::uint32_t number = 0; number < 150; ++number) {
    const Made made = random_trials(number);
    const auto found = decide(made.trials, made.limits, {});
    const double equal = 1 + 2 * experiment::coarse_equal_loss;
    for (const BatchSpeed& other : found->speeds) {
      if (other.batch >= found->batch) break;
      EXPECT_LT(other.samples_per_second.mean, equal * found->chosen().samples_per_second.mean)
          << number << ": " << other.batch << " rather than " << found->batch;
    }
  }
}

TEST(Decision, BoundsCompareWithEachCurvesOwnBest) {
  // All equal, and not known well: the apparently fastest need not be the fastest.
  std::vector<trial::Trial> trials;
  for (const std::int64_t batch : {64, 128, 256, 512, 1024})
    trials.push_back(ok(batch, 1000, 0.08));
  const auto found = decide(trials, {.min = 64, .max = 1024}, {});
  for (const BatchSpeed& speed : found->speeds) {
    EXPECT_LT(speed.share.mean, 0.999) << speed.batch;
    EXPECT_LE(speed.share.high, 1) << speed.batch;
  }
}

TEST(Evidence, SingleRunsLieApartByMoreThanTheyTell) {
  std::vector<trial::Trial> trials;
  for (const std::int64_t batch : {16, 64, 256})
    trials.push_back(ok(batch, line_speed(batch, 10), 1e-5));
  const Evidence known = evidence(trials);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_GE(known.times.covariance[4 * i], stats::square(experiment::run_deviation) / 2) << i;
  const auto found = decide(trials, {.max = 256}, {});
  for (const BatchSpeed& speed : found->speeds)
    EXPECT_GT(speed.samples_per_second.half_width_share(), 0.01) << speed.batch;
}

TEST(Evidence, RunsThatAgreeAreTrustedMoreAndRunsThatDoNotLess) {
  const auto deviation = [](double apart) {
    std::vector<trial::Trial> trials;
    for (const std::int64_t batch : {16, 64, 256, 1024})
      for (const double side : {-0.5, 0.5})
        trials.push_back(ok(batch, line_speed(batch, 10) * (1 + side * apart), 1e-4));
    return std::sqrt(evidence(trials).times.covariance[0]);
  };
  EXPECT_LT(deviation(0.001), experiment::run_deviation);
  EXPECT_GT(deviation(0.001), 0);
  // Runs 10% apart deviate by 7%, their mean by 5%.
  EXPECT_NEAR(deviation(0.1), 0.05, 0.015);
}

// If a step waits for the GPU.
TEST(Evidence, SteadyRunsOnAGpuLieCloserTogether) {
  const auto deviation = [](const trial::Trial& run) {
    return std::sqrt(evidence(std::vector{run}).times.covariance[0]);
  };
  EXPECT_LT(deviation(on_gpu(ok(64, 1000, 0.002))), experiment::run_deviation / 2);
  EXPECT_GE(deviation(on_gpu(ok(64, 1000, 0.05))), experiment::run_deviation)
      << "steps that vary wait for something else";
  EXPECT_GE(deviation(ok(64, 1000, 0.002)), experiment::run_deviation) << "on the CPU";
  trial::Trial beside = contended(on_gpu(ok(64, 1000, 0.002)));
  EXPECT_LT(deviation(beside), experiment::run_deviation / 2) << "a busy CPU is nothing to it";
  beside.contention.other_gpu_share = 0.5;
  EXPECT_GE(deviation(beside), experiment::contended_deviation);
  const std::vector<trial::Trial> apart = {on_gpu(ok(64, 1000, 0.002)),
                                           on_gpu(ok(64, 1080, 0.002))};
  EXPECT_GT(std::sqrt(evidence(apart).times.covariance[0]), experiment::run_deviation)
      << "what was seen overrules it";
}

TEST(Evidence, RepeatedRunsCountByTheirPrecision) {
  const std::vector trials = {ok(64, 1000, 0.001), ok(64, 1200, 0.5)};
  EXPECT_NEAR(decide(trials, {.max = 64}, {})->chosen().samples_per_second.mean, 1000, 10);
}

// Each is precise on its own, but they disagree: then neither is.
TEST(Evidence, RepeatedRunsThatDisagreeAreTrustedAlike) {
  const std::vector trials = {ok(64, 1000, 0.001), ok(64, 1200, 0.002)};
  const double mean = std::sqrt(1000.0 * 1200.0);
  EXPECT_NEAR(decide(trials, {.max = 64}, {})->chosen().samples_per_second.mean, mean, 0.01 * mean);
}

TEST(Evidence, ACalmRunCountsAndOneBesideABusyProcessHardlyDoes) {
  const std::vector trials = {contended(ok(64, 700, 0.001)), ok(64, 1000, 0.02)};
  EXPECT_NEAR(std::exp(-evidence(trials).times.log_seconds[0]) * 64, 1000, 30);
  // If there is nothing else, it is used.
  const std::vector alone = {contended(ok(64, 700, 0.001))};
  EXPECT_NEAR(std::exp(-evidence(alone).times.log_seconds[0]) * 64, 700, 1e-6);
  EXPECT_GE(evidence(alone).times.covariance[0], stats::square(experiment::contended_deviation));
}

TEST(Evidence, WhatTookTurnsIsComparedWithinItsRounds) {
  // Rounds 21 to 40 are slower by half for both; only one of the two was in the others.
  const auto slowed = [](std::int64_t batch, std::int32_t from) {
    trial::Trial trial;
    trial.setting.batch = batch;
    for (std::int32_t round = from; round <= 40; ++round)
      trial.raw.push_back(block(batch, (round > 20 ? 0.5 : 1) * 1000.0, round));
    return trial;
  };
  const std::vector trials = {slowed(16, 1), slowed(32, 1), slowed(64, 1), slowed(128, 21)};
  const auto& seconds = evidence(trials).times.log_seconds;
  EXPECT_NEAR(seconds[3] - seconds[2], std::log(2), 0.01);
}

TEST(Evidence, WarmUpAndStepsOutsideRoundsAreNoBlocks) {
  trial::Trial trial = in_rounds(64, 1000, 10, 0);
  trial.raw.push_back(block(64, 5, 11));
  trial.raw.back().warm_up = true;
  trial.raw.push_back(block(64, 7, 0));  // as from a device reading
  EXPECT_NEAR(std::exp(-evidence(std::vector{trial}).times.log_seconds[0]) * 64, 1000, 1e-6);
}

TEST(Evidence, SeveralTrialsOfABatchAreOneTable) {
  // As in a resumed study: its rounds continue the count.
  trial::Trial later = in_rounds(64, 1000, 20, 0);
  trial::Trial first = later;
  std::erase_if(first.raw, [](const trial::Step& step) { return step.round > 10; });
  std::erase_if(later.raw, [](const trial::Step& step) { return step.round <= 10; });
  const Evidence known = evidence(std::vector{first, later});
  EXPECT_EQ(known.times.batches, std::vector<std::int64_t>{64});
  EXPECT_LT(known.times.covariance[0], stats::square(experiment::block_deviation) / 10);
}

TEST(Evidence, FailuresSayWhatIsTooLargeAndWhatIsNotToBeAsked) {
  using trial::Outcome;
  const Evidence known = evidence(
      std::vector{ok(16, 100), failed(512, Outcome::out_of_memory), failed(256, Outcome::killed),
                  failed(64, Outcome::crashed), failed(1024, Outcome::cancelled)});
  EXPECT_EQ(known.too_large, 256);
  EXPECT_EQ(known.failed, (std::set<std::int64_t>{64, 256, 512}));
  EXPECT_EQ(known.largest_ok, 16);
  EXPECT_TRUE(known.knows(16));
  EXPECT_FALSE(known.knows(64));
}

TEST(KneeOfSpeeds, IsTheFirstWithinTheTolerance) {
  const std::vector<double> speeds = {50, 96, 94, 100, 99};
  EXPECT_EQ(knee(speeds, 0.05), 1u);
  EXPECT_EQ(knee(speeds, 0.02), 3u);
  EXPECT_EQ(knee(speeds, 0.5), 0u);
}

// While cores are apart, a step takes a millisecond more: the same machine with a different knee.
trial::Trial partly_slowed(std::int64_t batch, std::int32_t calm, std::int32_t slowed) {
  const double b = static_cast<double>(batch);
  trial::Trial trial = in_rounds(batch, b / (0.25e-3 + 50e-6 * b), calm + slowed);
  trial::Trial apart = in_rounds(batch, b / (1.25e-3 + 50e-6 * b), calm + slowed);
  for (std::size_t i = static_cast<std::size_t>(calm); i < trial.raw.size(); ++i)
    trial.raw[i] = apart.raw[i], trial.raw[i].slowed = true;
  return trial;
}

TEST(Decision, TheAnswerIsThatOfACalmMachineHoweverOftenItWasSlowed) {
  std::set<std::int64_t> answers;
  for (const auto& [calm, slowed] : {std::pair{40, 0}, {30, 10}, {10, 30}, {8, 72}}) {
    std::vector<trial::Trial> trials;
    for (const std::int64_t batch : {1, 16, 32, 64, 128, 256, 512, 1024})
      trials.push_back(partly_slowed(batch, calm, slowed));
    answers.insert(decide(trials, {.max = 1024}, {})->batch);
  }
  EXPECT_THAT(answers, testing::ElementsAre(128)) << "the line's knee is 94; slowed, it is 322";
}

TEST(Decision, ABatchSeenOnASlowedMachineOnlyIsKnownBadly) {
  std::vector<trial::Trial> trials;
  for (const std::int64_t batch : {1, 64, 128, 1024}) trials.push_back(partly_slowed(batch, 20, 0));
  trials.push_back(partly_slowed(16, 0, 20));
  const Evidence known = evidence(trials);
  const auto deviation = [&](std::size_t i) {
    return std::sqrt(known.times.covariance[i * known.times.batches.size() + i]);
  };
  ASSERT_THAT(known.times.batches, testing::ElementsAre(1, 16, 64, 128, 1024));
  EXPECT_GT(deviation(1), 0.05);
  EXPECT_LT(deviation(2), 0.02);
}

// As beside other processes: every step twice as long, and a large batch's blocks all beside them.
// In rounds of 1,000 samples a second; `factor` says how much longer a block takes, if it is
// slowed.
trial::Trial slowed_where(std::int64_t batch, const std::function<double(std::int32_t)>& factor) {
  trial::Trial trial = in_rounds(batch, 1000, 20);
  for (trial::Step& step : trial.raw)
    if (const double times = factor(step.round); times > 1)
      step.seconds *= times, step.slowed = true;
  return trial;
}

void expect_calm_speeds(const std::vector<trial::Trial>& trials) {
  const Evidence known = evidence(trials);
  for (std::size_t i = 0; i < trials.size(); ++i)
    EXPECT_NEAR(known.times.log_seconds[i],
                std::log(static_cast<double>(known.times.batches[i]) / 1000), 0.02);
}

TEST(Decision, ABatchSeenOnASlowedMachineOnlyIsTakenAsMuchFasterAsOthersWere) {
  const auto later = [](std::int32_t round) { return round > 10 ? 2.0 : 1.0; };
  trial::Trial late = slowed_where(256, later);
  std::erase_if(late.raw, [](const trial::Step& step) { return step.round <= 10; });
  expect_calm_speeds({slowed_where(16, later), slowed_where(64, later), late});
}

// A neighbour that computes for as long as it rests hits every other block of 10 ms, which takes
// three times as long, and a part of every long step. The hit ones alone would make that as fast as
// no machine is.
TEST(Decision, ALongStepIsSlowedAsMuchAsShortOnesTogether) {
  const auto now_and_then = [](std::int32_t round) { return round % 2 == 0 ? 3.0 : 1.0; };
  expect_calm_speeds({slowed_where(16, now_and_then), slowed_where(64, now_and_then),
                      slowed_where(4096, [](std::int32_t) { return 2.0; })});
}

TEST(Decision, AMachineThatWasSlowedAllTheTimeIsJudgedAsItWas) {
  std::vector<trial::Trial> trials;
  for (const std::int64_t batch : {1, 16, 64, 128, 256, 512, 1024, 2048})
    trials.push_back(partly_slowed(batch, 0, 40));
  EXPECT_EQ(decide(trials, {.max = 2048}, {})->batch, 512);
}

// Batch 1 is four times as fast on a calm machine, and batch 16, which was never seen on one, was
// taken to be so too.
TEST(Decision, AFewCalmBlocksSayLittleAboutBatchesThatHadNone) {
  const auto answer = [](std::int32_t calm_blocks_of_1024) {
    std::vector<trial::Trial> trials = {partly_slowed(1, 1, 33), partly_slowed(256, 4, 22),
                                        partly_slowed(1024, calm_blocks_of_1024, 31)};
    for (const std::int64_t batch : {8, 16, 32, 64}) trials.push_back(partly_slowed(batch, 0, 16));
    return decide(trials, {.max = 1024}, {})->batch;
  };
  EXPECT_GE(answer(0), 256) << "as slowed as it was nearly all the time";
  EXPECT_GE(answer(2), 64);
}

// A neighbour took a twentieth of the machine while batch 16 was measured, and nearly half of it
// later on.
TEST(Evidence, ABatchSlowedALittleIsNotCorrectedByWhatSlowedOthersMuch) {
  const auto slow_down = [](trial::Trial trial, std::int32_t from, double factor) {
    for (trial::Step& step : trial.raw)
      if (step.round >= from) step.seconds *= factor, step.slowed = true;
    return trial;
  };
  std::vector<trial::Trial> trials = {slow_down(in_rounds(16, line_speed(16, 8), 8), 1, 1.05)};
  for (const std::int64_t batch : {1, 64, 128, 256, 512}) {
    trials.push_back(slow_down(in_rounds(batch, line_speed(batch, 8), 60), 41, 1.8));
    std::erase_if(trials.back().raw, [](const trial::Step& step) { return step.round <= 8; });
  }
  const Evidence known = evidence(trials);
  ASSERT_EQ(known.times.batches[1], 16);
  EXPECT_NEAR(known.times.log_seconds[1], std::log(16 / line_speed(16, 8)), 0.1);
}

// A single block at a fast moment of the machine.
TEST(Decision, WhatWasNeverComparedIsNoAnswer) {
  std::vector<trial::Trial> trials;
  for (const std::int64_t batch : {1, 16, 64, 128, 256})
    trials.push_back(in_rounds(batch, line_speed(batch, 5), 40, 0.02));
  trial::Trial alone = in_rounds(1024, 1.5 * line_speed(1024, 5), 1);
  alone.raw.front().round = 41;
  trials.push_back(alone);
  EXPECT_LE(decide(trials, {.max = 1024}, {})->batch, 256);
}

TEST(Rounds, WhatEntersLateIsNotMeasuredAlone) {
  std::vector<trial::Trial> trials;
  for (const std::int64_t batch : {1, 16, 64})
    trials.push_back(in_rounds(batch, line_speed(batch, 40), 8, 0.01));
  const Plan next = plan(trials, {.max = 4096}, {}, in_place);
  EXPECT_FALSE(next.scouting);
  EXPECT_FALSE(next.settled);
  EXPECT_THAT(next.batches, testing::IsSupersetOf({64, 256}));
  for (trial::Trial& trial : trials)  // as after a scan
    std::erase_if(trial.raw, [&](trial::Step& step) {
      return step.round != (trial.setting.batch == 1 ? 1 : trial.setting.batch == 16 ? 2 : 3);
    });
  EXPECT_TRUE(plan(trials, {.max = 4096}, {}, in_place).scouting);
}

}  // namespace
}  // namespace sweetspot::search
