#include "measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "core/error.h"
#include "made_up.h"
#include "words.h"

namespace sweetspot::measure {
namespace {

using trial::Outcome;
using trial::Setting;
using trial::Step;
using trial::StopReason;
using trial::Trial;

struct Measure : testing::Test {
  Trial run(ScriptedWorkload::Script script, const Setting& setting = {.batch = 32}) {
    ScriptedWorkload workload(machine, std::move(script));
    Trial trial = measure(workload, setting, options, watch, {stop}, machine);
    EXPECT_EQ(workload.open_sessions, 0) << "the session outlived its trial";
    return trial;
  }
  StillMachine machine;
  MeasureOptions options;
  Watch watch;
  std::atomic<int> stop = 0;
};

TEST_F(Measure, AQuietWorkloadIsKnownExactly) {
  const Trial trial = run([](auto, const Setting& s) { return step_of(0.04, s.batch); });
  EXPECT_EQ(trial.outcome, Outcome::ok);
  EXPECT_EQ(trial.stop_reason, StopReason::precise);
  ASSERT_TRUE(trial.samples_per_second);
  EXPECT_NEAR(trial.samples_per_second->mean, 800, 1e-6);
  EXPECT_NEAR(trial.samples_per_second->low, 800, 1e-6);
  EXPECT_NEAR(*trial.step_seconds_median, 0.04, 1e-12);
  EXPECT_LT(trial.steps, options.min_steps) << "all of them alike";
  EXPECT_EQ(trial.outlier_steps, 0);
  EXPECT_FALSE(trial.contention.contended);
  EXPECT_EQ(trial.note, "");
}

TEST_F(Measure, RecordsWhatRan) {
  const Trial trial = run([](auto, const Setting& s) { return step_of(0.01, s.batch); });
  EXPECT_EQ(trial.setting, Setting{.batch = 32});
  EXPECT_EQ(static_cast<std::int64_t>(trial.raw.size()), trial.steps + trial.warm_up_steps);
  EXPECT_EQ(trial.samples_seen, 32 * static_cast<std::int64_t>(trial.raw.size()));
  EXPECT_EQ(trial.memory_predicted, 3200u);
  EXPECT_EQ(trial.memory_measured, 1000 + trial.raw.size()) << "the most it ever held";
  EXPECT_EQ(trial.memory_by_use, (core::MemoryByUse{{1000, 0, 0, trial.raw.size(), 0, 0}}));
  EXPECT_EQ(trial.started_at, 1.7e9 + 1000);
  EXPECT_NEAR(trial.seconds, 0.01 * static_cast<double>(trial.raw.size()), 1e-9);
}

TEST_F(Measure, KeepsWhatAGoodTrialsSessionHasToSay) {
  ScriptedWorkload workload(machine, [](auto, const Setting& s) { return step_of(0.01, s.batch); });
  workload.note = "look at this";
  EXPECT_EQ(measure(workload, {.batch = 32}, options, watch, {stop}, machine).note, "look at this");
}

TEST_F(Measure, WarmUpStepsAreKeptAndFlaggedAndNotCounted) {
  const Trial trial = run([](std::int64_t n, const Setting& s) {  // halves until step 20
    return step_of(n < 20 ? 0.01 * (21 - static_cast<double>(n)) : 0.01, s.batch);
  });
  EXPECT_GE(trial.warm_up_steps, 20);
  EXPECT_TRUE(trial.raw.front().warm_up);
  EXPECT_FALSE(trial.raw.back().warm_up);
  EXPECT_NEAR(trial.samples_per_second->mean, 3200, 1e-6);
}

TEST_F(Measure, WarmUpIsBoundedByTime) {
  options.max_warm_up = core::Seconds(2);
  const Trial trial = run([](std::int64_t n, const Setting& s) {  // never settles
    return step_of(1 / (1 + static_cast<double>(n)), s.batch);
  });
  EXPECT_EQ(trial.outcome, Outcome::ok);
  double warm_up_seconds = 0;
  for (const Step& step : trial.raw) warm_up_seconds += step.warm_up ? step.seconds : 0;
  EXPECT_LT(warm_up_seconds, 3);
}

// Imports and compilation may take longer than any warm-up.
TEST_F(Measure, AProgramsStartUpIsNoWarmUp) {
  struct Program final : workload::Workload {
    struct Running final : workload::Session {
      explicit Running(StillMachine& its_machine) : machine(its_machine) {}
      trial::Step step(const workload::Until&) override {
        if (n == 0) machine.time += 60;
        const trial::Step step = step_of(n < 10 ? 0.01 * (11 - n) : 0.01, 32);
        ++n;
        machine.time += step.seconds;
        return step;
      }
      StillMachine& machine;
      int n = 0;
    };
    explicit Program(StillMachine& its_machine) : machine(its_machine) {}
    std::string name() const override { return "program"; }
    workload::About about() const override { return {.rests_between_steps = false}; }
    std::unique_ptr<workload::Session> open(const Setting&) override {
      return std::make_unique<Running>(machine);
    }
    StillMachine& machine;
  } program(machine);
  const Trial trial = measure(program, {.batch = 32}, options, watch, {stop}, machine);
  EXPECT_GE(trial.warm_up_steps, 10);
  EXPECT_NEAR(trial.samples_per_second->mean, 3200, 1e-6);
}

TEST_F(Measure, NoiseTakesMoreStepsAndTheIntervalHoldsTheTruth) {
  const auto noisy = [](std::int64_t n, const Setting& s) {
    return step_of(0.01 * (1 + 0.2 * wobble(n)), s.batch);
  };
  const Trial trial = run(noisy);
  EXPECT_EQ(trial.stop_reason, StopReason::precise);
  EXPECT_GT(trial.steps, options.min_steps);
  EXPECT_LE(trial.samples_per_second->half_width_share(), options.precision);
  EXPECT_LT(trial.samples_per_second->low, 3200);
  EXPECT_GT(trial.samples_per_second->high, 3200);
}

TEST_F(Measure, StopsAtTheStepLimit) {
  options.max_steps = 20;
  options.precision = 1e-9;
  const Trial trial = run([](std::int64_t n, const Setting& s) {
    return step_of(0.01 * (1 + 0.1 * wobble(n)), s.batch);
  });
  EXPECT_EQ(trial.stop_reason, StopReason::max_steps);
  EXPECT_EQ(trial.steps, 20);
  EXPECT_TRUE(trial.samples_per_second);
}

// Sixteen steps of a microsecond would be too short.
TEST_F(Measure, LooksForAWhileHoweverShortTheSteps) {
  const auto seconds_of = [&](double noise) {
    const Trial trial = run([=](std::int64_t n, const Setting& s) {
      return step_of(1e-4 * (1 + noise * wobble(n)), s.batch);
    });
    EXPECT_EQ(trial.stop_reason, StopReason::precise);
    return static_cast<double>(trial.steps) * 1e-4;
  };
  EXPECT_GE(seconds_of(0), options.steady_time.count() - 1e-9);
  EXPECT_GE(seconds_of(0.05), options.min_time.count() - 1e-3) << "steps that vary";
}

// As on a GPU: the first steps take far longer, and the others repeat.
TEST_F(Measure, AFewSteadyStepsAreEnough) {
  for (const std::vector<double>& first :
       {std::vector<double>{}, {1.2}, {0.9, 0.3}, {0.08, 0.07, 2.5, 0.06}}) {
    const Trial trial = run([&](std::int64_t n, const Setting& s) {
      const auto i = static_cast<std::size_t>(n);
      return step_of(i < first.size() ? first[i] : 0.05 * (1 + 0.005 * wobble(n)), s.batch);
    });
    EXPECT_EQ(trial.stop_reason, StopReason::precise);
    EXPECT_NEAR(trial.samples_per_second->mean, 640, 640 * 0.005) << first.size();
    EXPECT_GE(trial.warm_up_steps, static_cast<std::int64_t>(first.size()));
    EXPECT_LE(static_cast<std::size_t>(trial.steps + trial.warm_up_steps), first.size() + 8);
  }
}

// Two slow modes of some steps each are not a warm-up and a steady state.
TEST_F(Measure, StepsThatVaryAreLookedAtForLonger) {
  const Trial trial = run(
      [&](std::int64_t n, const Setting& s) { return step_of(n / 6 % 2 ? 0.055 : 0.05, s.batch); });
  EXPECT_TRUE(trial.steps >= options.min_steps || trial.stop_reason == StopReason::time_limit)
      << trial.steps;
}

// Two that agree end the warm-up; on a GPU they are samples.
TEST_F(Measure, StepsThatShowTheEndOfAGpusWarmUpCount) {
  ScriptedProgram program(
      machine, [](std::int64_t n, const Setting& s) { return step_of(n == 0 ? 1 : 0.1, s.batch); });
  const auto counted = [&] {
    const Trial trial = measure(program, {.batch = 32}, options, watch, {stop}, machine);
    EXPECT_EQ(trial.stop_reason, StopReason::precise);
    EXPECT_NEAR(trial.samples_per_second->mean, 320, 1e-6);
    return std::pair(trial.warm_up_steps, trial.steps);
  };
  EXPECT_EQ(counted(), std::pair(std::int64_t{3}, std::int64_t{4}));
  program.seen = {{"cuda:0", nullptr, {}}};
  EXPECT_EQ(counted(), std::pair(std::int64_t{1}, std::int64_t{4}));
}

// If restarting costs nothing, the first measurement of varying steps is short.
TEST_F(Measure, AFirstLookTakesNoLongerThanToBeginAgain) {
  ScriptedProgram varying(machine, [](std::int64_t n, const Setting& s) {
    return step_of(0.01 * (1 + 0.4 * wobble(n)), s.batch);
  });
  options.precision = 1e-9;
  options.max_time = core::Seconds(10);
  const auto seconds = [&](bool first_look, std::optional<double> restart) {
    options.first_look = first_look, varying.restart = restart;
    const Trial trial = measure(varying, {.batch = 32}, options, watch, {stop}, machine);
    EXPECT_EQ(trial.stop_reason, StopReason::time_limit);
    return static_cast<double>(trial.steps) * 0.01;
  };
  EXPECT_NEAR(seconds(true, 0), options.min_time.count(), 0.1);
  EXPECT_NEAR(seconds(true, 4), 4, 0.1);
  EXPECT_NEAR(seconds(true, 60), 10, 0.1);
  EXPECT_NEAR(seconds(true, std::nullopt), 10, 0.1);
  EXPECT_NEAR(seconds(false, 0), 10, 0.1);
  varying.seen = {{"cuda:0", nullptr, {}}};
  EXPECT_NEAR(seconds(true, 4), options.min_time.count() / 2, 0.1) << "small batches on a GPU";
  varying.telling = 2;
  EXPECT_NEAR(seconds(true, 4), 2, 0.1) << "its memory rises: are its inputs of varying length?";
  varying.telling = 0;
  options.min_time = core::Seconds(0.1), options.reads_energy = true;
  EXPECT_NEAR(seconds(true, 0), 1, 0.1) << "an energy cannot be read faster";
}

// A GPU's energy counter updates every few tens of milliseconds, and its power takes a while to
// rise.
TEST_F(Measure, AReadingOfEnergyTakesASecond) {
  const auto seconds = [&] {
    const Trial trial = run([](std::int64_t, const Setting& s) { return step_of(0.03, s.batch); });
    EXPECT_EQ(trial.stop_reason, StopReason::precise);
    return static_cast<double>(trial.steps) * 0.03;
  };
  EXPECT_LT(seconds(), 0.5) << "steps that repeat";
  options.reads_energy = true;
  EXPECT_GE(seconds(), 1);
}

// A loader's processes have prefetched the first batches.
TEST_F(Measure, WhatWasLoadedAheadIsNotTheSpeed) {
  struct Loading final : workload::Workload {
    struct Running final : workload::Session {
      explicit Running(StillMachine& its_machine) : machine(its_machine) {}
      trial::Step step(const workload::Until&) override {
        const trial::Step step = step_of(n++ < 16 ? 0.05 : 0.2, 32);
        machine.time += step.seconds;
        return step;
      }
      workload::Seen seen() const override {
        workload::Seen seen;
        seen.loaded_ahead = 16;
        return seen;
      }
      StillMachine& machine;
      int n = 0;
    };
    explicit Loading(StillMachine& its_machine) : machine(its_machine) {}
    std::string name() const override { return "loading"; }
    std::unique_ptr<workload::Session> open(const Setting&) override {
      return std::make_unique<Running>(machine);
    }
    StillMachine& machine;
  } loading(machine);
  const Trial trial = measure(loading, {.batch = 32}, options, watch, {stop}, machine);
  EXPECT_NEAR(trial.samples_per_second->mean, 160, 1e-6);
}

TEST_F(Measure, StopsAtTheTimeLimit) {
  options.precision = 1e-9;
  options.max_time = core::Seconds(8);
  const Trial trial = run([](std::int64_t n, const Setting& s) {
    return step_of(0.1 * (1 + 0.1 * wobble(n)), s.batch);
  });
  EXPECT_EQ(trial.stop_reason, StopReason::time_limit);
  EXPECT_NEAR(static_cast<double>(trial.steps), 80, 3);
}

TEST_F(Measure, DriftThatNoStepCanAverageAwayIsTheNoiseFloor) {
  options.precision = 1e-3;
  options.max_time = core::Seconds(1e6);
  options.max_steps = 1'000'000;
  const Trial trial = run([](std::int64_t n, const Setting& s) {  // slower and slower
    return step_of(0.01 * (1 + 0.001 * static_cast<double>(n)) + 1e-4 * wobble(n), s.batch);
  });
  EXPECT_EQ(trial.stop_reason, StopReason::noise_floor);
}

TEST_F(Measure, StepsOfSecondsStillGiveAnEstimate) {
  for (const double seconds : {0.6, 2.0, 7.0}) {
    const Trial trial = run([=](std::int64_t n, const Setting& s) {
      return step_of(seconds * (1 + 0.05 * wobble(n)), s.batch);
    });
    EXPECT_EQ(trial.outcome, Outcome::ok);
    ASSERT_TRUE(trial.samples_per_second) << seconds;
    EXPECT_LT(trial.samples_per_second->low, 32 / seconds);
    EXPECT_GT(trial.samples_per_second->high, 32 / seconds);
    EXPECT_GT(trial.samples_per_second->low, 0);
    EXPECT_LE(trial.seconds, std::max(12.0, 8 * seconds))
        << "a limit of 8 s, and steps of " << seconds;
  }
}

TEST_F(Measure, OutliersAreFlaggedAndCounted) {
  const Trial trial = run([](std::int64_t n, const Setting& s) {
    return step_of(n % 20 == 19 ? 0.02 : 0.01, s.batch);
  });
  EXPECT_GT(trial.outlier_steps, 0);
  double seconds = 0;
  for (const Step& step : trial.raw) {
    if (step.warm_up) continue;
    EXPECT_EQ(step.outlier, step.seconds > 0.015);
    seconds += step.seconds;
  }
  EXPECT_NEAR(trial.samples_per_second->mean, 32 * static_cast<double>(trial.steps) / seconds, 1e-6)
      << "an outlier is time spent all the same";
}

TEST_F(Measure, PhasesAreAMeanStepsAndUnknownWhereNotTold) {
  const Trial told = run([](auto, const Setting& s) {
    Step step = step_of(0.01, s.batch);
    step.phases = {0.001, 0.003, 0.004, 0.0015, 0.0005};
    return step;
  });
  ASSERT_TRUE(told.phases);
  EXPECT_NEAR((*told.phases)[2], 0.004, 1e-12);
  const Trial silent = run([](auto, const Setting& s) { return step_of(0.01, s.batch); });
  EXPECT_FALSE(silent.phases);
}

TEST_F(Measure, AWorkloadThatChangedItsBatchIsRefused) {
  const Trial trial = run([](std::int64_t n, const Setting& s) {
    return step_of(0.01, n < 12 ? s.batch : s.batch / 2);
  });
  EXPECT_EQ(trial.outcome, Outcome::refused);
  EXPECT_WORDS(trial.note);
  EXPECT_FALSE(trial.samples_per_second);
}

TEST_F(Measure, AnEpochsShortLastBatchIsNoChangeOfBatch) {
  const Trial trial = run([](std::int64_t n, const Setting& s) {
    return step_of(0.01, n % 20 == 19 ? s.batch / 2 : s.batch);
  });
  EXPECT_EQ(trial.outcome, Outcome::ok);
}

TEST_F(Measure, SeveralUpdatesAtOnceAreOneStep) {
  const Trial trial = run([](std::int64_t n, const Setting& s) {
    const std::int64_t updates = 1 + n % 3;
    Step step = step_of(0.01 * static_cast<double>(updates), updates * s.batch);
    step.updates = updates;
    return step;
  });
  EXPECT_EQ(trial.outcome, Outcome::ok);
  EXPECT_NEAR(*trial.step_seconds_median, 0.01, 1e-12);
  EXPECT_NEAR(trial.samples_per_second->mean, 3200, 1e-6);
}

TEST_F(Measure, AGrowingNumberOfUpdatesIsNoChangeOfSpeed) {
  const Trial trial = run([](std::int64_t n, const Setting& s) {
    const std::int64_t updates = std::min<std::int64_t>(1 << n, 64);  // as a device's queue fills
    Step step = step_of(0.001 * static_cast<double>(updates), updates * s.batch);
    step.updates = updates;
    step.phases = {0, 0.25 * step.seconds, 0.5 * step.seconds, 0.25 * step.seconds, 0};
    return step;
  });
  EXPECT_EQ(trial.outcome, Outcome::ok);
  EXPECT_LE(std::ranges::count_if(trial.raw, &Step::warm_up), 10)
      << "the steps were alike from the first";
  EXPECT_EQ(trial.timings, std::ranges::count(trial.raw, false, &Step::warm_up));
  std::int64_t updates = 0;
  for (const Step& step : trial.raw) updates += step.updates;
  EXPECT_EQ(trial.steps + trial.warm_up_steps, updates) << "steps are weight updates";
  EXPECT_EQ(trial.outlier_steps, 0);
  EXPECT_NEAR(*trial.step_seconds_median, 0.001, 1e-12);
  EXPECT_NEAR((*trial.phases)[2], 0.0005, 1e-9) << "of one update";
}

TEST_F(Measure, ALostDeviceIsNoTrial) {
  EXPECT_THROW(run([](auto, const Setting&) -> Step {
                 throw core::DeviceLost("the GPU was lost: an illegal memory access");
               }),
               core::DeviceLost);
}

TEST_F(Measure, AProgramThatEndsEarlyIsJudgedByWhatItDid) {
  options.precision = 1e-9;
  for (const std::int64_t last : {3, 40}) {  // within the warm-up, and after it
    const Trial trial = run([&](std::int64_t n, const Setting& s) {
      if (n == last) throw workload::Ended(Outcome::ok, "it is over");
      return step_of(0.01 + 1e-3 * wobble(n), s.batch);
    });
    EXPECT_EQ(trial.outcome, Outcome::ok);
    EXPECT_EQ(trial.stop_reason, StopReason::ended);
    EXPECT_NEAR(trial.samples_per_second->mean, 3200, 320);
    EXPECT_EQ(trial.steps + trial.warm_up_steps, last);
  }
}

// Warm-up steps would be enough only for a short program.
TEST_F(Measure, AProgramThatTheDeadlineEndedCountsAsFarAsItWasMeasured) {
  options.precision = 1e-9;
  const auto ended_after = [&](std::int64_t last) {
    return run([&](std::int64_t n, const Setting& s) {
      if (n == last) throw workload::Ended(Outcome::ok, "the time is over", StopReason::time_limit);
      return step_of(0.01 + 1e-3 * wobble(n), s.batch);
    });
  };
  const Trial measured = ended_after(40);
  EXPECT_EQ(measured.outcome, Outcome::ok);
  EXPECT_EQ(measured.stop_reason, StopReason::time_limit);
  EXPECT_GE(measured.timings, 3);
  const std::int64_t warm_up = measured.warm_up_steps;
  for (const std::int64_t last : {warm_up - 1, warm_up + 2}) {
    const Trial cut = ended_after(last);
    EXPECT_EQ(cut.outcome, Outcome::cancelled) << last;
    EXPECT_EQ(cut.note, "the time is over");
  }
  EXPECT_EQ(ended_after(warm_up + 3).outcome, Outcome::ok);
}

// 2,000 samples are three steps of 512 and one of 464.
TEST_F(Measure, ARemainderAtTheEndOfShortEpochsIsNoOtherBatch) {
  for (const std::int64_t whole : {1, 3}) {
    const Trial trial = run(
        [&](std::int64_t n, const Setting& s) {
          const std::int64_t samples = n % (whole + 1) == whole ? 464 : s.batch;
          return step_of(1e-5 * static_cast<double>(samples), samples);
        },
        {.batch = 512});
    EXPECT_EQ(trial.outcome, Outcome::ok) << whole << trial.note;
    EXPECT_NEAR(trial.samples_per_second->mean, 1e5, 1e3) << whole;
  }
}

TEST_F(Measure, ShortStepsThatAreNoRemainderAreAnotherBatch) {
  const auto outcome = [&](auto samples_of) {
    return run([&](std::int64_t n, const Setting&) { return step_of(0.01, samples_of(n)); },
               {.batch = 512})
        .outcome;
  };
  EXPECT_EQ(outcome([](std::int64_t n) { return n < 2 ? 512 : 464; }), Outcome::refused);
  EXPECT_EQ(outcome([](std::int64_t n) { return n % 2 == 0 ? 512 : 400 + n; }), Outcome::refused);
  EXPECT_EQ(outcome([](std::int64_t) { return 464; }), Outcome::refused);
}

TEST_F(Measure, AProgramThatEndsWithoutAStepIsNoTrial) {
  const Trial trial =
      run([](auto, const Setting&) -> Step { throw workload::Ended(Outcome::ok, "it is over"); });
  EXPECT_EQ(trial.outcome, Outcome::crashed);
  EXPECT_FALSE(trial.samples_per_second);
}

TEST_F(Measure, AnEndingSaysItsOwnOutcome) {
  const Trial trial = run([](std::int64_t n, const Setting& s) {
    if (n == 2) throw workload::Ended(Outcome::timed_out, "no step for a minute");
    return step_of(0.01, s.batch);
  });
  EXPECT_EQ(trial.outcome, Outcome::timed_out);
  EXPECT_EQ(trial.note, "no step for a minute");
}

TEST_F(Measure, FailuresAreOutcomes) {
  const Trial refused_memory = run([](auto, const Setting&) -> Step { throw std::bad_alloc(); });
  EXPECT_EQ(refused_memory.outcome, Outcome::out_of_memory);
  const Trial no_room = run([](auto, const Setting&) -> Step {
    throw core::OutOfMemory("the machine refused 4 GiB for input; free memory");
  });
  EXPECT_EQ(no_room.outcome, Outcome::out_of_memory);
  EXPECT_EQ(no_room.note, "the machine refused 4 GiB for input; free memory");
  const Trial disk = run([](auto, const Setting&) -> Step {
    throw core::MachineError("the disk is full; free space");
  });
  EXPECT_EQ(disk.outcome, Outcome::crashed);
  const Trial bug = run([](std::int64_t n, const Setting& s) -> Step {
    if (n == 7) throw std::runtime_error("step 7 broke");
    return step_of(0.01, s.batch);
  });
  EXPECT_EQ(bug.outcome, Outcome::crashed);
  EXPECT_EQ(bug.note, "step 7 broke");
  EXPECT_EQ(bug.raw.size(), 7u) << "what ran before is kept";
  EXPECT_FALSE(bug.samples_per_second);
}

TEST_F(Measure, OnlyTheSecondStopEndsATrial) {
  const auto stop_at_step_3 = [&](int value) {
    stop = 0;
    return run([&, value](std::int64_t n, const Setting& s) {
      if (n == 3) stop = value;
      return step_of(0.01, s.batch);
    });
  };
  EXPECT_EQ(stop_at_step_3(1).outcome, Outcome::ok);
  const Trial cancelled = stop_at_step_3(2);
  EXPECT_EQ(cancelled.outcome, Outcome::cancelled);
  EXPECT_EQ(cancelled.raw.size(), 4u);
  EXPECT_FALSE(cancelled.samples_per_second);
}

TEST_F(Measure, TheWatcherSeesWarmUpThenSamplesTenTimesASecondAtMost) {
  std::int64_t told = 0, sampled = 0;
  bool warmed = false;
  watch = [&](const TrialProgress& sight) {
    EXPECT_EQ(sight.setting->batch, 32);
    ++told;
    warmed |= sight.warming_up;
    if (sight.warming_up) return;
    EXPECT_GE(sight.steps, sampled);
    sampled = sight.steps;
  };
  options.precision = 1e-9;
  const Trial trial = run([](std::int64_t n, const Setting& s) {
    return step_of(0.01 * (1 + 0.1 * wobble(n)), s.batch);
  });
  EXPECT_TRUE(warmed);
  EXPECT_GT(sampled, 0);
  EXPECT_LE(static_cast<double>(told), 10 * trial.seconds + 2);
  EXPECT_GE(static_cast<double>(told), 8 * trial.seconds);
}

TEST_F(Measure, ALoadedMachineIsRecordedWithTheTrial) {
  machine.load_now = {.pressure_us = 0, .busy_ticks = 0, .all_ticks = 0, .own_ticks = 0};
  const Trial trial = run([&](std::int64_t, const Setting& s) {
    // Two cores: this process takes one, another takes half of the other.
    *machine.load_now.own_ticks += 100, *machine.load_now.busy_ticks += 150;
    *machine.load_now.all_ticks += 200, *machine.load_now.pressure_us += 2500;
    return step_of(0.01, s.batch);
  });
  EXPECT_EQ(trial.outcome, Outcome::ok);
  EXPECT_TRUE(trial.contention.contended);
  EXPECT_NEAR(*trial.contention.other_cpu_share, 0.25, 1e-9);
  EXPECT_NEAR(*trial.contention.cpu_pressure_share, 0.25, 1e-6);
}

}  // namespace
}  // namespace sweetspot::measure
