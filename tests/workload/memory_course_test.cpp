#include <gtest/gtest.h>

#include "core/random.h"
#include "workload/memory_growth.h"

namespace sweetspot::workload {
namespace {

using core::GiB;

TEST(MemoryGrowth, APeakThatStaysNeedsNoMargin) {
  MemoryGrowth course;
  EXPECT_FALSE(course.margin());
  // The allocator's cache fills in the first steps.
  for (int step = 0; step < 30; ++step)
    course.add(0.1 * step, step < 3 ? (1 + step) * GiB : 4 * GiB);
  EXPECT_EQ(course.margin(), 0u);
  EXPECT_FALSE(course.rises_in_jumps());
}

TEST(MemoryGrowth, APeakThatRisesMayRiseWithEveryTriplingOfAnHour) {
  MemoryGrowth course;
  for (int step = 0; step <= 40; ++step) course.add(0.1 * step, 4 * GiB + (step > 30) * GiB / 8);
  // 3,600 s are 6.2 triplings of 4 s.
  EXPECT_NEAR(static_cast<double>(*course.margin()) / GiB, 6.19 / 8, 0.01);
  EXPECT_FALSE(course.rises_in_jumps());  // once is not a pattern
}

TEST(MemoryGrowth, InputsOfVaryingLengthRaiseItAgainAndAgain) {
  MemoryGrowth course;
  core::Bytes peak = 0;
  const core::Random random(3, core::Purpose::synthetic, 1);
  for (int step = 0; step < 60; ++step) {
    const double length =
        static_cast<double>(random.uniform(static_cast<std::uint64_t>(step))) * (1 + 0.01 * step);
    peak = std::max(peak, GiB + static_cast<core::Bytes>(8 * GiB * length));
    course.add(0.1 * step, peak);
  }
  EXPECT_TRUE(course.rises_in_jumps());
  EXPECT_GT(*course.margin(), 0u);
}

TEST(MemoryGrowth, TracesThatALanguageLeavesAreNoInputs) {
  MemoryGrowth course;
  for (int step = 0; step < 100; ++step) course.add(0.1 * step, GiB + 40'000u * step);
  EXPECT_FALSE(course.rises_in_jumps());
  EXPECT_LT(*course.margin(), GiB / 50);
}

}  // namespace
}  // namespace sweetspot::workload
