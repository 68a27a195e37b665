#include "telemetry/contention.h"

#include <gtest/gtest.h>

namespace sweetspot::telemetry {
namespace {

// Two readings a second apart on two cores (200 ticks), with this process taking one of them.
struct Second {
  Look before{.now = 10, .load = {0, 0, 0, 0}};
  Look after{.now = 11, .load = {0, 100, 200, 100}};
  trial::Contention judged() const { return contention(before, after); }
};

TEST(Contention, AQuietMachineIsNotContended) {
  const trial::Contention quiet = Second().judged();
  EXPECT_FALSE(quiet.contended);
  EXPECT_EQ(quiet.reason, "");
  EXPECT_EQ(quiet.other_cpu_share, 0);
  EXPECT_EQ(quiet.cpu_pressure_share, 0);
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

TEST(Contention, UnknownReadingsAreNotContention) {
  const trial::Contention unknown = contention(Look{}, Look{});
  EXPECT_FALSE(unknown.contended);
  EXPECT_FALSE(unknown.other_cpu_share);
  EXPECT_FALSE(unknown.cpu_pressure_share);
}

using probe::cpu::SpeedReading;

TEST(SlowedShare, IsThatOfTheMomentsThatWereSlower) {
  std::vector<SpeedReading> moments(20, SpeedReading{100, 100});
  EXPECT_EQ(slowed_share(moments), 0);
  moments[3].additions_per_second = 95;  // a core's clock moves by that much
  moments[4].exchange_bytes_per_second = 70;
  EXPECT_EQ(slowed_share(moments), 0);
  moments[5].additions_per_second = moments[6].additions_per_second = 93;
  moments[7].exchange_bytes_per_second = 50;
  EXPECT_EQ(slowed_share(moments), 0.15);
}

TEST(SlowedShare, OneMomentOfLuckIsNotWhatTheMachineCanDo) {
  std::vector<SpeedReading> moments(20, SpeedReading{100, 100});
  moments[9] = {130, 300};
  EXPECT_EQ(slowed_share(moments), 0);
}

TEST(SlowedShare, ASingleCoreHasNoNeighbourToExchangeWith) {
  std::vector<SpeedReading> moments(20, SpeedReading{100, 0});
  moments[0].additions_per_second = 50;
  EXPECT_EQ(slowed_share(moments), 0.05);
}

TEST(SlowedShare, IsUnknownFromFewMoments) {
  EXPECT_FALSE(slowed_share(std::vector<SpeedReading>(9, SpeedReading{100, 100})));
  EXPECT_TRUE(slowed_share(std::vector<SpeedReading>(10, SpeedReading{100, 100})));
}

}  // namespace
}  // namespace sweetspot::telemetry
