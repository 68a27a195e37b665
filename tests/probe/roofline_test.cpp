#include "probe/cpu/roofline.h"

#include <gtest/gtest.h>

#include <fstream>

#include "probe/cpu/speed_probe.h"
#include "temporary_folder.h"

namespace sweetspot::probe::cpu {
namespace {

struct Cache : testing::Test {
  tests::TemporaryFolder folder;
  std::filesystem::path file = folder / "deep/er/roofline.json";
};

TEST_F(Cache, GivesBackWhatWasWrittenForTheKey) {
  EXPECT_FALSE(read_roofline(file, {"EPYC", 2}));
  ASSERT_TRUE(write_roofline(file, {"EPYC", 2}, {2e11, 3e10}));
  ASSERT_TRUE(write_roofline(file, {"EPYC", 4}, {4e11, 3e10}));
  ASSERT_TRUE(write_roofline(file, {"EPYC", 2}, {2.5e11, 3.5e10}));
  EXPECT_EQ(read_roofline(file, {"EPYC", 2})->flops_per_second, 2.5e11);
  EXPECT_EQ(read_roofline(file, {"EPYC", 2})->bytes_per_second, 3.5e10);
  EXPECT_EQ(read_roofline(file, {"EPYC", 4})->flops_per_second, 4e11) << "others are kept";
  EXPECT_FALSE(read_roofline(file, {"Xeon", 2}));
}

TEST_F(Cache, LeavesNothingBesideTheFile) {
  write_roofline(file, {"EPYC", 2}, {2e11, 3e10});
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(file.parent_path()))
    ++files;
  EXPECT_EQ(files, 1);
}

TEST_F(Cache, NonsenseIsAsGoodAsNothing) {
  std::filesystem::create_directories(file.parent_path());
  for (const char* text :
       {"", "{", "[]", "{\"schema_version\": 99, \"entries\": []}",
        "{\"schema_version\": 1, \"entries\": 5}", "{\"schema_version\": 1, \"entries\": [5, {}]}",
        "{\"schema_version\": 1, \"entries\": [{\"cpu\": \"EPYC\", \"threads\": 2, "
        "\"flops_per_second\": \"fast\", \"bytes_per_second\": -1}]}"}) {
    std::ofstream(file) << text;
    EXPECT_FALSE(read_roofline(file, {"EPYC", 2})) << text;
    EXPECT_TRUE(write_roofline(file, {"EPYC", 2}, {2e11, 3e10})) << text;
    EXPECT_TRUE(read_roofline(file, {"EPYC", 2})) << text;
  }
}

TEST_F(Cache, AnImpossiblePlaceIsToldNotThrown) {
  EXPECT_FALSE(write_roofline("/proc/nowhere/roofline.json", {"EPYC", 2}, {2e11, 3e10}));
}

TEST(Speed, EveryKernelDoesWhatItSays) {
  EXPECT_GT(multiply_adds(), 0);
  EXPECT_GT(peak_flops_per_second(2, 0.002), 0);
}

TEST(SpeedProbe, IsTakenAgainAndAgain) {
  for (const int cores : {1, 2, 3}) {
    SpeedProbe probe(cores);
    for (int i = 0; i < 3; ++i) {
      const SpeedReading reading = probe.take();
      EXPECT_GT(reading.additions_per_second, 0);
      EXPECT_EQ(reading.exchange_bytes_per_second > 0, cores > 1) << "one core has no neighbour";
    }
  }
}

TEST(Bandwidth, IsMeasuredWithAnyNumberOfThreads) {
  EXPECT_GE(triad_bytes(), core::MiB);
  for (const int threads : {1, 3}) EXPECT_GT(triad_bytes_per_second(threads, core::MiB), 0);
}

}  // namespace
}  // namespace sweetspot::probe::cpu
