// A machine that is slow for a while, as its neighbours like: what was measured then does not
// count.
#include "measure/lookout.h"

#include <gtest/gtest.h>

#include "made_up.h"

namespace sweetspot::measure {
namespace {

constexpr trial::MachineSpeed fast{1e9, 1e9}, neighbour{7e8, 1e9}, apart{1e9, 3e8};

struct Disturbed : testing::Test {
  Disturbed() { machine.yardstick = Yardstick(fast); }
  // Steps of 10 ms, or of 20 ms while the machine is as slow as `is_slow` says of the step.
  template <class IsSlow>
  trial::Trial run(const trial::MachineSpeed& slow, IsSlow is_slow) {
    ScriptedWorkload workload(machine, [&, slow](std::int64_t n, const trial::Setting& setting) {
      machine.speed_now = is_slow(n) ? slow : fast;
      return step_of(is_slow(n) ? 0.02 : 0.01, setting.batch);
    });
    return measure(workload, {.batch = 32}, options, watch, stop, machine);
  }
  StillMachine machine;
  MeasureOptions options;
  Watch watch;
  std::atomic<int> stop = 0;
};

bool half_the_time(std::int64_t n) { return n / 20 % 2 == 1; }
bool always(std::int64_t) { return true; }

TEST_F(Disturbed, StepsAreFlaggedAndDoNotCount) {
  for (const trial::MachineSpeed& slow : {neighbour, apart}) {
    const trial::Trial trial = run(slow, half_the_time);
    EXPECT_NEAR(trial.samples_per_second->mean, 3200, 1e-6);
    EXPECT_NEAR(*trial.step_seconds_median, 0.01, 1e-12);
    EXPECT_FALSE(trial.contention.contended);
    EXPECT_GT(*trial.contention.disturbed_share, 0.3);
    EXPECT_EQ(trial.contention.arithmetic_per_second, 1e9) << "of the steps that count";
    EXPECT_NEAR(*trial.contention.speed_change_share, 0, 1e-12);
    std::int64_t sampled = 0;
    for (const trial::Step& step : trial.raw) {
      sampled += !step.warm_up;
      if (!step.warm_up) {
        EXPECT_TRUE(step.disturbed || step.seconds < 0.015);
      } else {
        EXPECT_FALSE(step.disturbed);
      }
    }
    EXPECT_EQ(sampled, trial.steps) << "none is dropped";
  }
}

TEST_F(Disturbed, ATrialThatWasSoThroughoutIsContendedHoweverLittle) {
  options.patience = core::Seconds(0);
  const trial::Trial trial = run({9e8, 1e9}, always);
  EXPECT_EQ(*trial.contention.disturbed_share, 1);
  EXPECT_TRUE(trial.contention.contended);
  EXPECT_EQ(trial.contention.reason, slower_than_it_was);
  EXPECT_NEAR(trial.samples_per_second->high / trial.samples_per_second->mean, 1 / 0.9, 0.02);
}

TEST_F(Disturbed, StepsTakeNoneOfATrialsTimeWhileThereIsPatience) {
  options.precision = 1e-9;
  options.max_time = core::Seconds(2);
  const auto wobbling = [this](double patience_seconds) {
    options.patience = core::Seconds(patience_seconds);
    ScriptedWorkload workload(machine, [&](std::int64_t n, const trial::Setting& setting) {
      machine.speed_now = half_the_time(n) ? apart : fast;
      return step_of((half_the_time(n) ? 0.02 : 0.01) * (1 + 0.1 * wobble(n)), setting.batch);
    });
    return measure(workload, {.batch = 32}, options, watch, stop, machine);
  };
  const trial::Trial patient = wobbling(100), hasty = wobbling(0);
  EXPECT_EQ(patient.stop_reason, trial::StopReason::time_limit);
  EXPECT_GT(patient.seconds, 3);
  EXPECT_LT(patient.seconds, 4.5) << "one trial may not lose more than its own time";
  EXPECT_NEAR(patient.contention.waited_seconds, 2, 1e-9);
  EXPECT_LT(hasty.seconds, 1.5) << "nothing better is waited for";
  EXPECT_EQ(hasty.contention.waited_seconds, 0);
  EXPECT_NEAR(hasty.samples_per_second->mean, 3200, 32) << "what was calm is enough";
}

TEST_F(Disturbed, OnAMachineThatIsNeverCalmAllStepsCountAndThatIsSaid) {
  options.patience = core::Seconds(1);
  const trial::Trial trial = run(apart, always);
  EXPECT_EQ(trial.outcome, trial::Outcome::ok);
  EXPECT_EQ(trial.stop_reason, trial::StopReason::time_limit);
  EXPECT_NEAR(trial.samples_per_second->mean, 1600, 1e-6);
  EXPECT_GT(trial.samples_per_second->high, 3200) << "it may be as fast as the machine has been";
  EXPECT_TRUE(trial.contention.contended);
  EXPECT_EQ(trial.contention.disturbed_share, 1);
  EXPECT_NEAR(trial.contention.waited_seconds, 1, 1e-9) << "no more than there is patience for";
  EXPECT_NEAR(*trial.step_seconds_median, 0.02, 1e-12);
}

TEST_F(Disturbed, AnInterruptedLookDoesNotWidenTheInterval) {
  options.patience = core::Seconds(0);
  ScriptedWorkload workload(machine, [&](std::int64_t n, const trial::Setting& setting) {
    machine.speed_now = n % 10 == 0 ? trial::MachineSpeed{1e8, 1e8} : neighbour;
    return step_of(0.02, setting.batch);
  });
  const trial::Trial trial = measure(workload, {.batch = 32}, options, watch, stop, machine);
  EXPECT_TRUE(trial.contention.contended);
  EXPECT_NEAR(trial.samples_per_second->high, 1600 / 0.7, 1) << "and not ten times as fast";
}

TEST_F(Disturbed, AProgramThatTrainsOnIsNotLookedAt) {
  machine.speed_now = apart;
  struct Running final : workload::Workload {
    struct Watched final : workload::Session {
      trial::Step step() override { return step_of(0.01, 32); }
      bool rests_between_steps() const override { return false; }
    };
    std::string name() const override { return "running"; }
    std::unique_ptr<workload::Session> open(const trial::Setting&) override {
      return std::make_unique<Watched>();
    }
  } running;
  const trial::Trial trial = measure(running, {.batch = 32}, options, watch, stop, machine);
  EXPECT_FALSE(trial.contention.disturbed_share);
  EXPECT_FALSE(trial.contention.contended);
}

TEST(Lookout, LooksSoSeldomThatItTakesLittle) {
  StillMachine machine;
  Lookout lookout(machine, machine.speed());
  EXPECT_TRUE(lookout.calm_since_last());
  const double often = lookout.block_seconds();
  struct SlowLook final : StillMachine {
    trial::MachineSpeed speed() override {
      time += takes;
      return speed_now;
    }
    double takes = 0.01;
  } slow;
  Lookout careful(slow, slow.speed());
  careful.calm_since_last();
  EXPECT_GT(careful.block_seconds(), often);
  EXPECT_GE(careful.block_seconds(), 100 * slow.takes);
  slow.takes = 0.02;  // interrupted once
  const double before = careful.block_seconds();
  careful.calm_since_last();
  EXPECT_EQ(careful.block_seconds(), before);
}

TEST(Lookout, OneLookThatWasInterruptedIsNotTheMachine) {
  StillMachine machine;
  machine.speed_now = neighbour;
  Lookout lookout(machine, machine.speed());
  for (int block = 0; block < 4; ++block) {
    machine.speed_now = block == 2 ? trial::MachineSpeed{1e7, 1e7} : neighbour;
    lookout.calm_since_last();
  }
  EXPECT_EQ(lookout.lower_quarter().arithmetic, neighbour.arithmetic);
  EXPECT_EQ(lookout.lower_quarter().exchange, neighbour.exchange);
}

TEST(Lookout, AMachineThatWasSlowForAThirdOfTheTimeIsNotCalledFast) {
  StillMachine machine;
  Lookout lookout(machine, machine.speed());
  for (const bool slow : {false, true, true, false, false}) {
    machine.speed_now = slow ? neighbour : fast;
    lookout.calm_since_last();
  }
  EXPECT_EQ(lookout.lower_quarter().arithmetic, neighbour.arithmetic);
}

TEST(Lookout, ABlockIsCalmIfTheMachineIsAtBothEnds) {
  StillMachine machine;
  Lookout lookout(machine, machine.speed());
  machine.yardstick = Yardstick(fast);
  EXPECT_TRUE(lookout.calm_since_last());
  machine.speed_now = neighbour;
  EXPECT_FALSE(lookout.calm_since_last());
  EXPECT_FALSE(lookout.calm_since_last());
  machine.speed_now = fast;
  EXPECT_FALSE(lookout.calm_since_last());
  EXPECT_TRUE(lookout.calm_since_last());
  EXPECT_EQ(lookout.calm().arithmetic, fast.arithmetic);
  machine.speed_now = {0.97 * fast.arithmetic, 0.75 * fast.exchange};
  EXPECT_TRUE(lookout.calm_since_last()) << "it varies that much by itself";
  EXPECT_NEAR(lookout.calm().arithmetic, fast.arithmetic * 2.97 / 3, 1);
  machine.speed_now = {0.9 * fast.arithmetic, fast.exchange};
  EXPECT_FALSE(lookout.calm_since_last()) << "one of two cores may be shared";
}

}  // namespace
}  // namespace sweetspot::measure
