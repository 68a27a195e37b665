#include "probe/proc/load.h"

#include <gtest/gtest.h>

#include <fstream>

#include "probe/proc/own_use.h"
#include "temporary_folder.h"

namespace sweetspot::probe::proc {
namespace {

namespace fs = std::filesystem;

struct MadeLoad : testing::Test {
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root.path() / file).parent_path());
    std::ofstream(root.path() / file) << text;
  }
  tests::TemporaryFolder root;
};

TEST_F(MadeLoad, NothingIsKnownOfAnEmptyTree) {
  const Load nothing = load(root.path());
  EXPECT_FALSE(nothing.pressure_us);
  EXPECT_FALSE(nothing.busy_ticks);
  EXPECT_FALSE(nothing.own_ticks);
  const Disturbance unknown = between(nothing, nothing, 1);
  EXPECT_FALSE(unknown.pressure_share);
  EXPECT_FALSE(unknown.other_cpu_share);
}

TEST_F(MadeLoad, ReadsThePressureOfSome) {
  write("proc/pressure/cpu",
        "some avg10=85.14 avg60=93.52 avg300=75.24 total=2713553810\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
  EXPECT_EQ(load(root.path()).pressure_us, 2713553810u);
}

TEST_F(MadeLoad, AddsUpTheCpusThatCount) {
  write("proc/stat",
        "cpu  1000 0 0 9000 0 0 0 0 0 0\n"
        "cpu0 10 20 30 400 50 6 7 8 5 5\n"
        "cpu1 1 1 1 100 0 0 0 0 0 0\n"
        "cpu10 9 9 9 9 9 9 9 9 9 9\n"
        "intr 1 2 3\n");
  EXPECT_EQ(load(root.path(), {0}).busy_ticks, 81u) << "guests are in user and nice already";
  EXPECT_EQ(load(root.path(), {0}).all_ticks, 531u);
  EXPECT_EQ(load(root.path(), {0, 1}).busy_ticks, 84u);
  EXPECT_EQ(load(root.path(), {}).all_ticks, 10000u) << "all of them";
  EXPECT_FALSE(load(root.path(), {5}).all_ticks);
}

TEST_F(MadeLoad, OldKernelsHaveNoSteal) {
  write("proc/stat", "cpu  1 2 3 4 5 6 7\n");
  EXPECT_EQ(load(root.path(), {}).busy_ticks, 19u);
}

TEST_F(MadeLoad, OwnTimeIsFoundBehindAnyName) {
  write("proc/self/stat",
        "4211 (a) 9 (b) S 1 4211 4211 0 -1 4194304 100 0 0 0 70 30 5 5 20 0 3 0 12345\n");
  EXPECT_EQ(load(root.path()).own_ticks, 110u) << "children that were waited for are ours too";
  write("proc/self/stat", "4211 (cut");
  EXPECT_FALSE(load(root.path()).own_ticks);
}

TEST_F(MadeLoad, ProcessesThatWeStartedAreNoOthers) {
  const auto stat = [](int user) {
    return "1 (a) S 1 1 1 0 -1 4194304 100 0 0 0 " + std::to_string(user) + " 0 0 0 20 0 3 0 1\n";
  };
  write("proc/self/stat", stat(100));
  write("proc/self/task/10/children", "");
  write("proc/self/task/11/children", "20 21 ");
  write("proc/20/stat", stat(7));
  write("proc/20/task/20/children", "30");
  write("proc/30/stat", stat(1000));  // a grandchild; 21 has ended meanwhile
  EXPECT_EQ(load(root.path()).own_ticks, 1107u);
  write("proc/9/stat", stat(50));
  write("proc/9/task/9/children", "20");
  count_as_own(9);
  EXPECT_EQ(load(root.path()).own_ticks, 1057u) << "who called us trains, and we are its child";
  count_as_own(0);
}

TEST(Disturbance, IsTheTimeOfOthers) {
  const Load before{1'000'000, 500, 1000, 100}, after{1'500'000, 660, 1200, 200};
  const Disturbance found = between(before, after, 2);
  EXPECT_NEAR(*found.pressure_share, 0.25, 1e-12);
  EXPECT_NEAR(*found.other_cpu_share, 0.3, 1e-12);  // 160 busy, 100 of them ours, of 200
}

TEST(Disturbance, IsUnknownOverTooShortATimeOrBackwards) {
  const Load before{0, 500, 1000, 100};
  EXPECT_FALSE(between(before, {0, 505, 1010, 100}, 0.05).other_cpu_share);
  EXPECT_FALSE(between(before, {0, 400, 900, 100}, 1).other_cpu_share);
  EXPECT_FALSE(between(before, before, 0).pressure_share);
}

TEST(Disturbance, IsNeverNegative) {  // own time is read at other moments than the CPUs'
  EXPECT_EQ(between({0, 0, 0, 0}, {0, 99, 200, 101}, 1).other_cpu_share, 0);
}

TEST_F(MadeLoad, PressureIsReadForEachResource) {
  write("proc/pressure/memory",
        "some avg10=12.50 avg60=0.00 avg300=0.00 total=77\n"
        "full avg10=3.25 avg60=0.00 avg300=0.00 total=7\n");
  const Pressure memory = pressure("memory", root.path());
  EXPECT_EQ(memory.some_share, 0.125);
  EXPECT_EQ(memory.full_share, 0.0325);
  EXPECT_EQ(memory.some_total_us, 77u);
  EXPECT_FALSE(pressure("io", root.path()).some_share);
  write("proc/pressure/io", "some of this makes no sense\n");
  EXPECT_FALSE(pressure("io", root.path()).some_share);
}

TEST(CpuTime, IsAShareOverEnoughTicks) {
  EXPECT_EQ(busy_share({100, 1000}, {150, 1100}), 0.5);
  EXPECT_FALSE(busy_share({100, 1000}, {101, 1002})) << "that would be rounding";
  EXPECT_FALSE(busy_share({100, 1000}, {90, 1100})) << "a counter that went back";
  EXPECT_FALSE(busy_share({}, {90, 1100}));
}

TEST_F(MadeLoad, OwnMemoryIsInPages) {
  EXPECT_FALSE(own_memory(root.path()));
  write("proc/self/statm", "900 25 3 1 0 7 0\n");
  EXPECT_EQ(own_memory(root.path()).value() % 25, 0u);
}

TEST(ScheduledCpus, AreKnownHere) { EXPECT_FALSE(scheduled_cpus().empty()); }

}  // namespace
}  // namespace sweetspot::probe::proc
