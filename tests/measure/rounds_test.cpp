#include "measure/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.h"
#include "measure/made_up.h"
#include "words.h"
#include "workload/fake/fake.h"

namespace sweetspot::measure {
namespace {

using trial::Outcome;
using trial::Setting;
using trial::Step;
using trial::Trial;

std::vector<Setting> settings_of(const std::vector<std::int64_t>& batches) {
  std::vector<Setting> settings;
  for (const std::int64_t batch : batches) {
    settings.emplace_back();
    settings.back().batch = batch;
  }
  return settings;
}

// Rounds in which a trial has a block.
std::vector<std::int32_t> rounds_of(const Trial& trial) {
  std::vector<std::int32_t> rounds;
  for (const Step& step : trial.raw)
    if (!step.warm_up && step.round > 0) rounds.push_back(step.round);
  return rounds;
}

std::vector<std::int32_t> whole_numbers(std::int32_t from, std::int32_t to) {
  std::vector<std::int32_t> numbers;
  for (std::int32_t number = from; number <= to; ++number) numbers.push_back(number);
  return numbers;
}

// A step takes 2.75 ms at any batch, so that a block has four, and a switch one.
constexpr double step_seconds = 0.00275;
static_assert(4 * step_seconds > experiment::block_seconds &&
              3 * step_seconds < experiment::block_seconds);
constexpr std::int64_t block_steps = 4, switch_steps = 1;

struct InRounds : testing::Test {
  Rounds& begin() {
    return rounds.emplace(workload, options, watch, workload::Until{stop}, machine);
  }
  bool run(const std::vector<std::int64_t>& batches, int times = 1) {
    if (!rounds) begin();
    const auto settings = settings_of(batches);
    for (int i = 0; i < times; ++i)
      if (!rounds->run(settings)) return false;
    return true;
  }
  Trial trial(std::int64_t batch) const {
    for (const Trial& each : rounds->trials())
      if (each.setting.batch == batch) return each;
    ADD_FAILURE() << "no trial of batch " << batch;
    return {};
  }

  StillMachine machine;
  std::vector<std::int64_t> stepped;  // the batch of each step
  std::function<void()> before_step;  // may throw, or stop
  ScriptedWorkload workload{machine, [this](auto, const Setting& setting) {
                              if (before_step) before_step();
                              stepped.push_back(setting.batch);
                              return step_of(step_seconds, setting.batch);
                            }};
  RoundsOptions options;
  Watch watch;
  std::atomic<int> stop{0};
  std::optional<Rounds> rounds;
};

TEST_F(InRounds, EachBatchHasOneBlockInEachRound) {
  EXPECT_TRUE(run({16, 64, 256}, 6));
  EXPECT_EQ(rounds->rounds(), 6);
  for (const std::int64_t batch : {16, 64, 256}) {
    const Trial found = trial(batch);
    EXPECT_EQ(found.outcome, Outcome::ok);
    EXPECT_EQ(rounds_of(found), whole_numbers(1, 6));
    EXPECT_EQ(found.steps, 6 * block_steps);
    for (const Step& step : found.raw) {
      EXPECT_EQ(step.samples, step.updates * batch);
      EXPECT_EQ(step.updates, std::llround(step.seconds / step_seconds));
      EXPECT_TRUE(step.warm_up || step.seconds >= options.block_seconds) << step.round;
    }
  }
}

TEST_F(InRounds, TheFirstStepsAfterASwitchAreWarmUp) {
  run({16, 64}, 5);
  const Trial found = trial(16);
  std::set<std::int32_t> warmed;
  for (const Step& step : found.raw) {
    if (step.warm_up) warmed.insert(step.round);
    EXPECT_TRUE(warmed.contains(step.round)) << "before the block of round " << step.round;
  }
  std::int64_t warm_up_steps = 0;
  for (const Step& step : found.raw) warm_up_steps += step.warm_up ? step.updates : 0;
  EXPECT_EQ(found.warm_up_steps, warm_up_steps);
  EXPECT_EQ(found.samples_seen, 16 * (found.steps + found.warm_up_steps));
}

// It refused what a trial of its own accepts.
TEST_F(InRounds, AnEpochsShortLastBatchIsNoChangeOfBatch) {
  workload.script = [](std::int64_t n, const Setting& setting) {
    const std::int64_t samples = n % 20 == 19 ? setting.batch / 2 : setting.batch;
    return step_of(step_seconds * static_cast<double>(samples) / static_cast<double>(setting.batch),
                   samples);
  };
  run({16, 64}, 20);
  for (const std::int64_t batch : {16, 64}) {
    const Trial found = trial(batch);
    EXPECT_EQ(found.outcome, Outcome::ok) << found.note;
    EXPECT_EQ(rounds_of(found), whole_numbers(1, 20));
    EXPECT_NEAR(found.samples_per_second->mean, static_cast<double>(batch) / step_seconds, 1e-6);
  }
}

TEST_F(InRounds, WhatSwitchesDearlyHasLongBlocks) {
  struct Dear final : ScriptedWorkload {
    using ScriptedWorkload::ScriptedWorkload;
    workload::Switching switching() const override { return {true, cost}; }
    core::Seconds cost{0.05};
  } dear(machine, workload.script);
  Rounds taking_turns(dear, options, watch, {stop}, machine);
  const auto shortest = [&] {
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(taking_turns.run(settings_of({16, 64})));
    double least = 1;
    for (const Trial& each : taking_turns.trials())
      least = std::min(least, each.raw.back().seconds);
    return least;
  };
  EXPECT_NEAR(shortest(), 4 * 0.05, step_seconds);
  dear.cost = core::Seconds(0.1);  // it turns out to be dearer
  EXPECT_NEAR(shortest(), 4 * 0.1, step_seconds);
  dear.cost = core::Seconds(0.001);
  EXPECT_NEAR(shortest(), options.block_seconds, step_seconds);
}

TEST_F(InRounds, EveryOtherRoundIsTheReverse) {
  const std::vector<std::int64_t> batches = {8, 16, 32, 64, 128};
  run(batches);
  std::vector<std::vector<std::int64_t>> orders;
  for (int round = 2; round <= 9; ++round) {
    stepped.clear();
    run(batches);
    ASSERT_EQ(stepped.size(), batches.size() * (block_steps + switch_steps));
    orders.emplace_back();
    for (std::size_t i = 0; i < stepped.size(); i += block_steps + switch_steps)
      orders.back().push_back(stepped[i]);
    EXPECT_THAT(orders.back(), testing::UnorderedElementsAreArray(batches));
  }
  // Rounds 3 and 4, 5 and 6, 7 and 8 belong together.
  std::set<std::vector<std::int64_t>> different;
  for (std::size_t i = 1; i + 1 < orders.size(); i += 2) {
    different.insert(orders[i]);
    std::ranges::reverse(orders[i]);
    EXPECT_EQ(orders[i + 1], orders[i]);
  }
  EXPECT_GT(different.size(), 1u) << "shuffled anew";
}

TEST_F(InRounds, AResumedStudyGoesOnCounting) {
  options.first_round = 41;
  run({16}, 3);
  EXPECT_EQ(rounds_of(trial(16)), whole_numbers(41, 43));
  EXPECT_EQ(rounds->rounds(), 3);
}

TEST_F(InRounds, ATrialSaysWhatItsBlocksSay) {
  run({32, 64}, 12);
  const Trial found = trial(32);
  EXPECT_NEAR(found.samples_per_second->mean, 32 / step_seconds, 1e-6);
  EXPECT_LT(found.samples_per_second->low, 32 / step_seconds);
  EXPECT_GT(found.samples_per_second->high, 32 / step_seconds);
  EXPECT_NEAR(*found.step_seconds_median, step_seconds, 1e-12);
  EXPECT_EQ(found.memory_predicted, 3200u);
  EXPECT_TRUE(found.memory_measured);
  EXPECT_EQ(found.outlier_steps, 0);
  EXPECT_FALSE(found.phases) << "they were not told";
}

TEST_F(InRounds, PhasesAreOfOneUpdate) {
  workload.script = [](auto, const Setting& setting) {
    Step step = step_of(0.01, setting.batch);
    step.phases = {0.0001, 0.003, 0.005, 0.0015, 0.0004};
    return step;
  };
  run({32}, 9);
  EXPECT_NEAR(trial(32).phases.value()[2], 0.005, 1e-12);
}

TEST_F(InRounds, WhereLoadingLimitsFullBuffersAreEmptiedFirst) {
  workload.script = [](auto, const Setting& setting) {
    Step step = step_of(0.01, setting.batch);
    step.phases = {0.004, 0.002, 0.002, 0.001, 0.001};
    return step;
  };
  auto settings = settings_of({32, 64});
  settings[0].configuration.prefetch = settings[1].configuration.prefetch = 7;
  begin().run(settings), rounds->run(settings);
  const Trial found = trial(32);
  EXPECT_EQ(found.raw[found.raw.size() - 2].updates, 1 + 7) << "warm-up of the last round";
}

// It flagged three of every four steps as warm-up: the loader of a newly opened session is empty.
TEST_F(InRounds, WaitingForTheFirstDataIsNoLimit) {
  workload.script = [](auto number, const Setting& setting) {
    Step step = step_of(0.01, setting.batch);
    step.phases = {number <= 2 ? 0.009 : 0.0, 0.002, 0.002, 0.001, 0.001};
    return step;
  };
  auto settings = settings_of({32, 64});
  settings[0].configuration.prefetch = settings[1].configuration.prefetch = 7;
  begin().run(settings), rounds->run(settings);
  const Trial found = trial(32);
  EXPECT_EQ(found.raw[found.raw.size() - 2].updates, 1) << "warm-up of the last round";
}

TEST_F(InRounds, LongStepsBringTheirOwnData) {
  workload.script = [](auto, const Setting& setting) { return step_of(0.5, setting.batch); };
  run({32, 64}, 4);
  const Trial found = trial(32);
  EXPECT_EQ(found.steps, 4) << "a block is one of them";
  EXPECT_LE(found.warm_up_steps, 3);
}

TEST_F(InRounds, ABatchThatLeavesStaysOpenAndAllAreClosedAtTheEnd) {
  run({16, 32, 64}, 2);
  EXPECT_EQ(workload.open_sessions, 3);
  run({16, 64}, 2);
  EXPECT_EQ(workload.open_sessions, 3);
  run({16, 32, 64}, 1);
  EXPECT_EQ(workload.open_sessions, 3);
  EXPECT_EQ(rounds_of(trial(32)), (std::vector<std::int32_t>{1, 2, 5})) << "one trial all the same";
  rounds.reset();
  EXPECT_EQ(workload.open_sessions, 0);
  EXPECT_EQ(workload.closed, workload.opened);
  EXPECT_EQ(workload.opened, 3) << "to open one again would take many blocks' time";
}

// A session's memory layout decides its speed for as long as it is open. Here batch 32 draws a slow
// layout first, and batch 1024 takes long to open.
TEST_F(InRounds, NoBatchIsJudgedByOnePlaceInMemory) {
  std::map<std::int64_t, int> openings;
  workload.opening = [&](const Setting& setting) {
    ++openings[setting.batch];
    machine.time += setting.batch == 1024 ? 1 : 0.01;
  };
  workload.script = [&](auto, const Setting& setting) {
    const bool slow = setting.batch == 32 && openings[32] == 1;
    return step_of((slow ? 1.1 : 1) * step_seconds, setting.batch);
  };
  const auto step_of_32 = [&] {
    run({16, 32, 1024}, 200);
    const double seconds = *trial(32).step_seconds_median;
    rounds.reset();
    return seconds;
  };
  EXPECT_NEAR(step_of_32(), 1.1 * step_seconds, 1e-6) << "unless it is opened anew";
  openings.clear(), options.renews = true;
  const double before = machine.time;
  EXPECT_NEAR(step_of_32(), step_seconds, 1e-6);
  EXPECT_GE(openings[32], 4);
  EXPECT_EQ(openings[16], openings[32]);
  EXPECT_EQ(openings[1024], 1) << "which takes too long";
  EXPECT_LT(0.01 * (openings[16] + openings[32]), 0.15 * (machine.time - before));
}

TEST(RoundsOfAFake, ABatchThatRunsOutOfMemoryLeavesAndTheOthersGoOn) {
  workload::fake::Options made;
  made.out_of_memory_above = 100;
  made.out_of_memory_at_step = 40;  // after its first blocks
  workload::fake::FakeWorkload workload(made);
  StillMachine machine;
  const Watch watch;
  const std::atomic<int> stop{0};
  Rounds rounds(workload, {}, watch, {stop}, machine);
  const auto settings = settings_of({16, 64, 128});
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(rounds.run(settings));
  const auto trials = rounds.trials();
  ASSERT_EQ(trials.size(), 3u);
  for (const Trial& trial : trials) {
    const bool large = trial.setting.batch == 128;
    EXPECT_EQ(trial.outcome, large ? Outcome::out_of_memory : Outcome::ok);
    EXPECT_EQ(trial.samples_per_second.has_value(), !large);
    if (large) {
      EXPECT_WORDS(trial.note);
      EXPECT_GE(rounds_of(trial).size(), 1u) << "it failed in the middle";
    } else {
      EXPECT_EQ(rounds_of(trial), whole_numbers(1, 20));
    }
  }
  EXPECT_TRUE(rounds.failed(settings[2]));
  EXPECT_FALSE(rounds.failed(settings[0]));
}

TEST_F(InRounds, AFailureIsItsBatchsAlone) {
  workload.script = [](std::int64_t n, const Setting& setting) {
    if (setting.batch == 32 && n == 12) throw std::runtime_error("step 12 broke");
    return step_of(step_seconds, setting.batch == 64 && n >= 12 ? 7 : setting.batch);
  };
  run({16, 32, 64}, 5);
  EXPECT_EQ(rounds_of(trial(16)), whole_numbers(1, 5));
  EXPECT_EQ(trial(32).outcome, Outcome::crashed);
  EXPECT_EQ(trial(32).note, "step 12 broke");
  EXPECT_EQ(trial(64).outcome, Outcome::refused) << "its batch changed";
  EXPECT_EQ(workload.open_sessions, 1);
}

TEST_F(InRounds, WhatOnlyFitsAloneIsNotBlamed) {
  for (const int side_by_side : {1, 2}) {
    workload.opening = [&](const Setting&) {
      if (workload.open_sessions >= side_by_side) throw core::OutOfMemory("no room");
    };
    rounds.reset();
    EXPECT_TRUE(run({16, 32, 64}, 6));
    for (const Trial& each : rounds->trials()) {
      EXPECT_EQ(each.outcome, Outcome::ok) << each.note;
      EXPECT_EQ(rounds_of(each), whole_numbers(1, 6));
    }
  }
  rounds.reset();
  EXPECT_EQ(workload.closed, workload.opened);
}

TEST_F(InRounds, WhatDoesNotFitAloneEitherDoesNotFit) {
  workload.opening = [&](const Setting& setting) {
    if (setting.batch == 64) throw std::bad_alloc();
  };
  EXPECT_TRUE(run({16, 32, 64}, 4));
  EXPECT_EQ(trial(64).outcome, Outcome::out_of_memory);
  EXPECT_EQ(rounds_of(trial(16)), whole_numbers(1, 4));
  EXPECT_EQ(rounds_of(trial(32)), whole_numbers(1, 4));
}

TEST_F(InRounds, SessionsThatAreOpenTakeNoMoreThanTheyMayTogether) {
  for (const core::Bytes allowed : {core::Bytes{4000}, core::Bytes{6500}, core::Bytes{100'000}}) {
    options.memory = allowed;
    struct Counted final : ScriptedWorkload::ScriptedSession {
      Counted(ScriptedWorkload& its_workload, const Setting& its_setting, core::Bytes& its_sum)
          : ScriptedSession(its_workload, its_setting), sum(its_sum) {
        sum += static_cast<core::Bytes>(100 * setting.batch);
      }
      ~Counted() override { sum -= static_cast<core::Bytes>(100 * setting.batch); }
      core::Bytes& sum;
    };
    struct Counting final : ScriptedWorkload {
      using ScriptedWorkload::ScriptedWorkload;
      std::unique_ptr<workload::Session> open(const Setting& setting) override {
        auto session = std::make_unique<Counted>(*this, setting, sum);
        most = std::max(most, sum);
        return session;
      }
      core::Bytes sum = 0, most = 0;
    } counting(machine, workload.script);
    Rounds taking_turns(counting, options, watch, {stop}, machine);
    const auto settings = settings_of({10, 20, 30, 40});
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(taking_turns.run(settings));
    for (const Trial& each : taking_turns.trials()) EXPECT_EQ(rounds_of(each), whole_numbers(1, 6));
    EXPECT_LE(counting.most, allowed);
    if (allowed < 10'000) continue;
    EXPECT_EQ(counting.most, 10'000u) << "all four are open side by side";
  }
}

// The second Ctrl-C, at each step of two rounds.
TEST_F(InRounds, WhatWasDoneBeforeItWasStoppedCounts) {
  const std::vector<std::int64_t> batches = {16, 32, 64};
  for (std::size_t at = 0; at < 45; ++at) {
    rounds.reset();
    stepped.clear();
    stop = 0;
    begin();
    before_step = [&] {
      if (stepped.size() == at) stop = 2;
    };
    int whole = 0;
    while (run(batches)) ASSERT_LT(++whole, 5);
    EXPECT_EQ(stepped.size(), at + 1) << "not a step more";
    EXPECT_EQ(rounds->rounds(), whole);
    for (const Trial& each : rounds->trials()) {
      const auto done = static_cast<std::int32_t>(rounds_of(each).size());
      EXPECT_EQ(each.outcome, done > 0 ? Outcome::ok : Outcome::cancelled) << at;
      EXPECT_EQ(each.samples_per_second.has_value(), done > 0) << at;
      EXPECT_GE(done, whole) << at;
      EXPECT_LE(done, whole + 1) << at;
      EXPECT_EQ(each.steps, done * block_steps) << at << ": half a block is none";
    }
  }
  rounds.reset();
  EXPECT_EQ(workload.closed, workload.opened);
}

TEST_F(InRounds, TheFirstCtrlCLetsTheRoundFinish) {
  before_step = [&] {
    if (stepped.size() == 12) stop = 1;
  };
  EXPECT_TRUE(run({16, 32, 64}));
  for (const Trial& each : rounds->trials()) EXPECT_EQ(rounds_of(each), whole_numbers(1, 1));
}

TEST_F(InRounds, ContentionIsJudgedOnceForAll) {
  machine.load_now = {.pressure_us = 0, .busy_ticks = 0, .all_ticks = 0, .own_ticks = 0};
  // Another process takes a quarter of the cores, only during the larger batch.
  workload.script = [&](auto, const Setting& setting) {
    *machine.load_now.own_ticks += 100, *machine.load_now.all_ticks += 200;
    *machine.load_now.busy_ticks += setting.batch == 64 ? 200 : 100;
    return step_of(step_seconds, setting.batch);
  };
  run({16, 64}, 12);
  const Trial small = trial(16), large = trial(64);
  EXPECT_TRUE(small.contention.contended);
  EXPECT_TRUE(large.contention.contended);
  EXPECT_EQ(small.contention.reason, large.contention.reason);
  EXPECT_NEAR(*small.contention.other_cpu_share, 0.25, 0.02);
  EXPECT_EQ(small.contention.other_cpu_share, large.contention.other_cpu_share);
  EXPECT_EQ(small.contention.slowed_share, 0);
}

TEST_F(InRounds, NeighboursAreSeenBetweenTheRounds) {
  begin();
  for (int round = 0; round < 20; ++round) {
    machine.speed_now.additions_per_second = round % 4 == 0 ? 0.8e9 : 1e9;
    run({16, 64});
  }
  EXPECT_EQ(trial(16).contention.slowed_share, 0.25);
  EXPECT_FALSE(trial(16).contention.contended) << "a diagnosis, not a verdict";
}

// A virtual machine's cores may be moved apart for seconds; a neighbour may share them.
TEST_F(InRounds, BlocksOfASlowedMachineAreFlaggedOnBothSidesOfTheMoment) {
  const auto slowed = [&](std::int64_t batch) {
    std::vector<std::int32_t> rounds_slowed;
    for (const Step& step : trial(batch).raw)
      if (trial::is_block(step) && step.slowed) rounds_slowed.push_back(step.round);
    return rounds_slowed;
  };
  begin();
  for (int round = 1; round <= 30; ++round) {
    machine.speed_now = {1e9, round >= 11 && round <= 13 ? 0.3e9 : 1e9};
    run({16});
  }
  EXPECT_EQ(slowed(16), whole_numbers(10, 13)) << "the moment before round 11 is the one after 10";
  machine.speed_now.additions_per_second = 0.8e9;
  run({16});
  EXPECT_EQ(slowed(16).back(), 31);
}

// Of two cores, another process has one in every third round, while one of our threads waits.
TEST_F(InRounds, BlocksWhoseThreadsWaitedForOthersAreFlagged) {
  machine.scheduling_now = probe::proc::Scheduling{0, 0, 2};
  bool others = false;
  workload.script = [&](std::int64_t, const Setting& setting) {
    machine.scheduling_now->ran_seconds += (others ? 1.1 : 1.9) * step_seconds;
    machine.scheduling_now->waited_seconds += (others ? 0.9 : 0.5) * step_seconds;
    return step_of(step_seconds, setting.batch);
  };
  begin();
  for (int round = 1; round <= 12; ++round) {
    others = round % 3 == 0;
    run({16, 64});
  }
  for (const Step& step : trial(64).raw)
    if (trial::is_block(step)) {
      EXPECT_EQ(step.slowed, step.round % 3 == 0) << step.round;
    }
}

// They slow the speed probe as well; such a reading says nothing about the blocks around it.
TEST_F(InRounds, SpeedReadingsThatWaitedForOthersAreDropped) {
  machine.scheduling_now = probe::proc::Scheduling{0, 0, 2};
  begin();
  for (int round = 1; round <= 30; ++round) {
    machine.while_taking_speed = [&, others = round % 3 == 0] {
      machine.time += 0.001;
      machine.scheduling_now->ran_seconds += 0.001;
      machine.scheduling_now->waited_seconds += others ? 0.001 : 0;
      machine.speed_now.additions_per_second = others ? 0.5e9 : 1e9;
    };
    run({16});
  }
  for (const Step& step : trial(16).raw) EXPECT_FALSE(step.slowed) << step.round;
  EXPECT_EQ(trial(16).contention.slowed_share, 0);
}

// So busy that no reading is left.
TEST_F(InRounds, OtherProcessesAreReportedEvenIfTheyDisturbEveryReading) {
  machine.load_now.busy_ticks = machine.load_now.all_ticks = machine.load_now.own_ticks = 0;
  machine.scheduling_now = probe::proc::Scheduling{0, 0, 2};
  machine.while_taking_speed = [&] {
    machine.time += 0.001;
    machine.scheduling_now->waited_seconds += 0.001;
  };
  workload.script = [&](auto, const Setting& setting) {
    *machine.load_now.all_ticks += 200, *machine.load_now.busy_ticks += 200;
    *machine.load_now.own_ticks += 100;
    return step_of(step_seconds, setting.batch);
  };
  begin();
  run({16, 64}, 12);
  EXPECT_TRUE(trial(16).contention.contended);
  EXPECT_FALSE(trial(16).contention.slowed_share);
}

TEST_F(InRounds, AMachineThatIsAlwaysTheSameIsNotSlowed) {
  begin();
  machine.speed_now = {0.5e9, 0.1e9};  // whatever others are
  run({16, 64}, 20);
  for (const Step& step : trial(64).raw) EXPECT_FALSE(step.slowed);
}

TEST_F(InRounds, ALostDevicePassesThrough) {
  before_step = [&] {
    if (stepped.size() == 80) throw core::DeviceLost("the GPU was lost");
  };
  EXPECT_THROW(run({16, 32}, 10), core::DeviceLost);
  for (const Trial& each : rounds->trials()) EXPECT_GE(rounds_of(each).size(), 1u);
  rounds.reset();
  EXPECT_EQ(workload.open_sessions, 0);
}

TEST_F(InRounds, WhatCannotBePlannedIsNotOpened) {
  struct Unplanned final : ScriptedWorkload {
    using ScriptedWorkload::ScriptedWorkload;
    std::optional<core::Bytes> predict(const Setting& setting,
                                       workload::Extent extent) const override {
      if (setting.batch == 64) throw core::InputError("64 samples are too many for a tile");
      return ScriptedWorkload::predict(setting, extent);
    }
  } unplanned(machine, workload.script);
  Rounds taking_turns(unplanned, options, watch, {stop}, machine);
  EXPECT_TRUE(taking_turns.run(settings_of({16, 64})));
  EXPECT_EQ(unplanned.opened, 1);
  EXPECT_EQ(taking_turns.trials()[1].outcome, Outcome::crashed);
  EXPECT_EQ(taking_turns.trials()[1].note, "64 samples are too many for a tile");
}

// A machine whose device counts its energy: 20 W.
struct PoweredMachine : StillMachine {
  PoweredMachine() { reading_interval_seconds = 0; }
  std::unique_ptr<telemetry::Meter> meter(const std::string&) override {
    auto made = std::make_unique<ScriptedMeter>();
    made->script = [](int) { return trial::Reading{0, 0.9, 100, 20.0}; };
    made->counter = [this] { return std::optional(20 * time); };
    made->interval = 1e-6;
    return made;
  }
};

TEST(ReadDevice, TellsTheEnergyOfStepsThatAreNoBlock) {
  PoweredMachine powered;
  ScriptedWorkload workload(
      powered, [](auto, const Setting& setting) { return step_of(step_seconds, setting.batch); });
  const Watch watch;
  const std::atomic<int> stop{0};
  Rounds rounds(workload, {}, watch, {stop}, powered);
  EXPECT_TRUE(rounds.has_energy());
  const auto settings = settings_of({16, 32});
  for (int i = 0; i < 3; ++i) rounds.run(settings);
  rounds.read_device(settings[0], 0.2);
  const auto trials = rounds.trials();
  EXPECT_EQ(rounds_of(trials[0]), whole_numbers(1, 3));
  EXPECT_EQ(trials[0].raw.back().round, 0);
  EXPECT_NEAR(trials[0].energy_joules.value(), 20 * trials[0].raw.back().seconds, 1e-6);
  EXPECT_GE(trials[0].trace.size(), 2u);
  EXPECT_FALSE(trials[1].energy_joules);
  EXPECT_NEAR(trials[0].samples_per_second->mean, 16 / step_seconds, 1e-6);
}

}  // namespace
}  // namespace sweetspot::measure
