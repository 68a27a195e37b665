#include <gtest/gtest.h>

#include "made_up.h"

namespace sweetspot::measure {
namespace {

// Two looks a second apart on two cores (200 ticks), with this process taking one of them.
struct Second {
  Look before{.now = 10, .load = {0, 0, 0, 0}, .speed = Speed{100, 100}};
  Look after{.now = 11, .load = {0, 100, 200, 100}, .speed = Speed{100, 100}};
  trial::Contention judged(const Speed& best_speed = {100, 100}) const {
    return contention(before, after, best_speed);
  }
};

TEST(Contention, AQuietMachineIsNotContended) {
  const trial::Contention quiet = Second().judged();
  EXPECT_FALSE(quiet.contended);
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

TEST(Contention, TheBestSpeedIsOfAllLooks) {
  StillMachine machine;
  look(machine, true);
  machine.speed_now = {5, 5};
  look(machine, true);
  EXPECT_EQ(machine.best_speed.arithmetic, 1e9);
}

TEST(Contention, CoresThatWereMovedApartAreContention) {
  Second second;
  second.before.speed->exchange = 70;
  EXPECT_FALSE(second.judged().contended) << "it varies that much by itself";
  second.before.speed->exchange = 40;
  EXPECT_TRUE(second.judged().contended);
}

TEST(Contention, ASlowMachineIsWaitedForUntilPatienceEnds) {
  StillMachine machine;
  look(machine, true);
  machine.speed_now.exchange = 1e8;
  int waits = 0;
  machine.waited = [&] {
    if (++waits == 3) machine.speed_now.exchange = 1e9;
  };
  EXPECT_EQ(look_when_calm(machine, true).speed->exchange, 1e9);
  EXPECT_EQ(waits, 3);
  machine.speed_now.exchange = 1e8;
  machine.waited = nullptr;
  EXPECT_EQ(look_when_calm(machine, true).speed->exchange, 1e8);
  EXPECT_LE(machine.patience_seconds, 0);
  const double now = machine.time;
  look_when_calm(machine, true);
  EXPECT_EQ(machine.time, now) << "no trial waits any more";
}

TEST(Contention, AProgramThatTrainsOnIsNotDisturbedByAProbe) {
  StillMachine machine;
  EXPECT_FALSE(look(machine, false).speed);
  EXPECT_EQ(machine.best_speed.arithmetic, 0);
}

}  // namespace
}  // namespace sweetspot::measure
