#include <gtest/gtest.h>

#include "made_up.h"

namespace sweetspot::measure {
namespace {

// Two looks a second apart on two cores (200 ticks), with this process taking one of them.
struct Second {
  Look before{.now = 10, .load = {0, 0, 0, 0}, .speed = trial::MachineSpeed{100, 100}};
  Look after{.now = 11, .load = {0, 100, 200, 100}, .speed = trial::MachineSpeed{100, 100}};
  trial::Contention judged(const trial::MachineSpeed& best_speed = {100, 100}) const {
    return contention(before, after, best_speed);
  }
};

TEST(Contention, AQuietMachineIsNotContended) {
  const trial::Contention quiet = Second().judged();
  EXPECT_FALSE(quiet.contended);
  EXPECT_EQ(quiet.reason, "");
  EXPECT_EQ(quiet.other_cpu_share, 0);
  EXPECT_EQ(quiet.cpu_pressure_share, 0);
  EXPECT_EQ(quiet.speed_change_share, 0);
}

TEST(Contention, OthersThatTakeATenthOfTheCoresAreContention) {
  Second second;
  second.after.load.busy_ticks = 119;
  EXPECT_FALSE(second.judged().contended);
  second.after.load.busy_ticks = 122;
  EXPECT_TRUE(second.judged().contended);
  EXPECT_EQ(second.judged().reason, "other processes took 11% of the CPUs' time");
  EXPECT_NEAR(*second.judged().other_cpu_share, 0.11, 1e-12);
}

TEST(Contention, PressureAloneMayBeOurOwnThreads) {
  Second second;
  second.after.load.pressure_us = 900'000;
  EXPECT_FALSE(second.judged().contended);
  EXPECT_NEAR(*second.judged().cpu_pressure_share, 0.9, 1e-12);
  second.after.load.busy_ticks = 112;
  EXPECT_TRUE(second.judged().contended);
}

TEST(Contention, ASlowerClockThanEverSeenIsContention) {
  Second second;
  second.after.speed->arithmetic = 90;
  EXPECT_FALSE(second.judged().contended);
  EXPECT_NEAR(*second.judged().speed_change_share, 0.1, 1e-12);
  second.after.speed->arithmetic = 80;
  EXPECT_TRUE(second.judged().contended);
  EXPECT_TRUE(Second().judged({130, 100}).contended) << "slow before and after, but faster once";
}

TEST(Contention, UnknownReadingsAreNotContention) {
  const trial::Contention unknown = contention(Look{}, Look{}, {});
  EXPECT_FALSE(unknown.contended);
  EXPECT_FALSE(unknown.other_cpu_share);
  EXPECT_FALSE(unknown.cpu_pressure_share);
  EXPECT_FALSE(unknown.speed_change_share);
}

TEST(Contention, CoresThatWereMovedApartAreContention) {
  Second second;
  second.before.speed->exchange = 70;
  EXPECT_FALSE(second.judged().contended) << "it varies that much by itself";
  second.before.speed->exchange = 40;
  EXPECT_TRUE(second.judged().contended);
}

TEST(Contention, ASlowMachineIsWaitedForUntilPatienceEnds) {
  const auto never = [] { return false; };
  StillMachine machine;
  machine.yardstick = Yardstick(machine.speed_now);
  machine.speed_now.exchange = 1e8;
  int waits = 0;
  machine.waited = [&] {
    if (++waits == 3) machine.speed_now.exchange = 1e9;
  };
  const Look recovered = look_when_calm(machine, true, 10, never);
  EXPECT_EQ(recovered.speed->exchange, 1e9);
  EXPECT_EQ(waits, 3);
  machine.speed_now.exchange = 1e8;
  const double start = machine.time;
  const Look slow = look_when_calm(machine, true, 2, never);
  EXPECT_EQ(slow.speed->exchange, 1e8);
  EXPECT_NEAR(slow.waited_seconds, 2, 0.2);
  EXPECT_NEAR(machine.time - start, slow.waited_seconds, 1e-9);
  EXPECT_EQ(look_when_calm(machine, true, 0, never).waited_seconds, 0) << "no patience is left";
}

TEST(Contention, AHurryEndsTheWaiting) {
  StillMachine machine;
  machine.yardstick = Yardstick(machine.speed_now);
  machine.speed_now.exchange = 1e8;
  int waits = 0;
  machine.waited = [&] { ++waits; };
  look_when_calm(machine, true, 1e6, [&] { return waits == 2; });
  EXPECT_EQ(waits, 2);
}

TEST(Contention, ItKeepsTheSlowerLook) {
  Second second;
  second.before.speed = {100, 90};
  second.after.speed = {95, 120};
  const trial::Contention judged = second.judged({100, 120});
  EXPECT_EQ(judged.arithmetic_per_second, 95);
  EXPECT_EQ(judged.exchange_bytes_per_second, 90);
}

TEST(Contention, AContendedIntervalReachesUpToWhatTheMachineAloneWouldGive) {
  const trial::Interval seen{100, 98, 102};
  Second second;
  EXPECT_EQ(widened(seen, second.judged(), {100, 100}).high, 102);
  second.after.load.busy_ticks = 200;  // the others took half of the cores
  const trial::Interval wide = widened(seen, second.judged(), {100, 100});
  EXPECT_EQ(wide.mean, 100);
  EXPECT_EQ(wide.low, 98);
  EXPECT_NEAR(wide.high, 204, 1e-9);
  Second apart;
  apart.before.speed->exchange = 25;
  EXPECT_NEAR(widened(seen, apart.judged(), {100, 100}).high, 408, 1e-9);
}

TEST(Contention, AProgramThatHardlyWaitsForACpuLosesLittleToOthers) {
  Second second;
  second.before.speed = second.after.speed = std::nullopt;
  second.after.load.busy_ticks = 200, second.after.load.pressure_us = 100'000;
  ASSERT_TRUE(second.judged().contended);
  EXPECT_NEAR(widened({90, 89, 90}, second.judged(), {100, 100}).high, 100, 1e-9);
}

trial::Trial trial_at(double exchange) {
  trial::Trial trial;
  trial.contention.arithmetic_per_second = 100;
  if (exchange > 0) trial.contention.exchange_bytes_per_second = exchange;
  return trial;
}

TEST(Contention, TrialsBeforeTheMachineShowedItsSpeedWereContended) {
  std::vector<trial::Trial> trials{trial_at(50), trial_at(0), trial_at(110), trial_at(150)};
  trial::heed_best_speed(trials);
  EXPECT_TRUE(trials[0].contention.contended);
  EXPECT_FALSE(trials[1].contention.contended) << "unknown is not slow";
  EXPECT_FALSE(trials[2].contention.contended);
  EXPECT_FALSE(trials[3].contention.contended);
}

TEST(Contention, AProgramThatTrainsOnIsNotDisturbedByAProbe) {
  StillMachine machine;
  EXPECT_FALSE(look(machine, false).speed);
  EXPECT_EQ(machine.yardstick.best().arithmetic, 0);
}

}  // namespace
}  // namespace sweetspot::measure
