#include "workload/memory_growth.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace sweetspot::workload {
namespace {

using core::GiB;

TEST(MemoryGrowth, APeakThatStaysNeedsNoMargin) {
  MemoryGrowth growth;
  EXPECT_FALSE(growth.margin());
  // The allocator's cache fills in the first steps.
  for (int step = 0; step < 30; ++step)
    growth.add(0.1 * step, step < 3 ? (1 + step) * GiB : 4 * GiB);
  EXPECT_EQ(growth.margin(), 0u);
  EXPECT_FALSE(growth.rises_in_jumps());
}

TEST(MemoryGrowth, APeakThatRisesMayRiseWithEveryTriplingOfAnHour) {
  MemoryGrowth growth;
  for (int step = 0; step <= 40; ++step) growth.add(0.1 * step, 4 * GiB + (step > 30) * GiB / 8);
  // 3,600 s are 6.2 triplings of 4 s.
  EXPECT_NEAR(static_cast<double>(*growth.margin()) / GiB, 6.19 / 8, 0.01);
  EXPECT_FALSE(growth.rises_in_jumps());  // once is not a pattern
}

// Lengths drawn at random, for which new peaks become rare.
TEST(MemoryGrowth, InputsOfVaryingLengthRaiseItAgainAndAgain) {
  int seen = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    MemoryGrowth growth;
    core::Bytes peak = 0;
    const core::Random random(3, core::Purpose::synthetic, seed);
    for (int step = 0; step < 60; ++step) {
      const double length = std::abs(0.3 + 0.2 * random.normal(static_cast<std::uint64_t>(step)));
      peak = std::max(peak, GiB + static_cast<core::Bytes>(8 * GiB * length));
      growth.add(0.05 * step, peak);
    }
    seen += growth.rises_in_jumps();
  }
  EXPECT_GE(seen, 12);
}

// A short trial is continued where it rises, and ends where it does not.
TEST(MemoryGrowth, RisingIsSeenWithinAFewSteps) {
  MemoryGrowth rising, filled;
  EXPECT_FALSE(rising.rises());
  for (int step = 0; step < 9; ++step) {
    rising.add(0.05 * step, (step < 2 ? 1 : step < 7 ? 4 : 5) * GiB);
    filled.add(0.05 * step, (step < 2 ? 1 : 4) * GiB);
  }
  EXPECT_TRUE(rising.rises());
  EXPECT_FALSE(rising.margin()) << "not for an hour";
  EXPECT_FALSE(filled.rises());
}

TEST(MemoryGrowth, TracesThatALanguageLeavesAreNoInputs) {
  MemoryGrowth growth;
  for (int step = 0; step < 100; ++step) growth.add(0.1 * step, GiB + 40'000u * step);
  EXPECT_FALSE(growth.rises());
  EXPECT_FALSE(growth.rises_in_jumps());
  EXPECT_LT(*growth.margin(), GiB / 50);
}

}  // namespace
}  // namespace sweetspot::workload
