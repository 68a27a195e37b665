#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "probe/proc/cgroup.h"
#include "probe/proc/host.h"
#include "probe/proc/own_use.h"
#include "temporary_folder.h"

namespace sweetspot::probe::proc {
namespace {

namespace fs = std::filesystem;
using core::GiB;
using core::MiB;
using testing::ElementsAre;
using testing::IsEmpty;

// A fake /proc and /sys.
class MadeTree : public testing::Test {
 protected:
  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text;
  }
  tests::TemporaryFolder folder;
  const fs::path root = folder.path();
};

TEST_F(MadeTree, NothingIsKnownOfAnEmptyTree) {
  EXPECT_FALSE(cpu(root).model);
  EXPECT_FALSE(memory(root).total);
  EXPECT_FALSE(memory(root).free);
  EXPECT_FALSE(cgroup_memory(root));
  EXPECT_FALSE(cgroup_cpu_quota(root));
  EXPECT_THAT(nvidia_gpus(root), IsEmpty());
  EXPECT_EQ(usable_cores(root), scheduled_cores());
}

TEST_F(MadeTree, SchedulingIsThatOfAllThreads) {
  EXPECT_FALSE(own_scheduling(root));
  write("proc/self/task/41/comm", "an older kernel");
  EXPECT_FALSE(own_scheduling(root));
  write("proc/self/task/41/schedstat", "2000000000 500000000 17\n");
  write("proc/self/task/42/schedstat", "1000000000 250000000 3\n");
  ASSERT_TRUE(own_scheduling(root));
  EXPECT_DOUBLE_EQ(own_scheduling(root)->ran_seconds, 3);
  EXPECT_DOUBLE_EQ(own_scheduling(root)->waited_seconds, 0.75);
}

// Two ranks of a launcher take turns on a core: nobody else had it.
TEST_F(MadeTree, SchedulingIsThatOfAllRanks) {
  const auto ran = [&](const char* process, double seconds, double waited) {
    write(std::string("proc/") + process + "/task/" + process + "/schedstat",
          std::to_string(std::llround(seconds * 1e9)) + ' ' +
              std::to_string(std::llround(waited * 1e9)) + " 1\n");
  };
  write("proc/9/task/9/children", "20 21");
  ran("9", 0, 0), ran("20", 4, 1), ran("21", 5, 2);
  count_as_own(9);
  std::optional<Scheduling> before = own_scheduling(root);
  ran("20", 4.5, 1.5), ran("21", 5.5, 2.5);
  std::optional<Scheduling> after = own_scheduling(root);
  count_as_own(0);
  ASSERT_TRUE(before && after);
  EXPECT_DOUBLE_EQ(before->ran_seconds, 9);
  before->cores = after->cores = 1;
  EXPECT_DOUBLE_EQ(taken_by_others(*before, *after, 1), 0);
  EXPECT_DOUBLE_EQ(taken_by_others(*before, *after, 1.25), 0.2) << "a quarter of it was taken";
}

TEST(Scheduling, OnlyWhatOthersTookCounts) {
  const Scheduling before{10, 5, 2};
  EXPECT_DOUBLE_EQ(taken_by_others(before, {11.2, 5.8, 2}, 1), 0.8) << "others had most of a core";
  EXPECT_DOUBLE_EQ(taken_by_others(before, {12, 6, 2}, 1), 0) << "three threads of ours on two";
  EXPECT_DOUBLE_EQ(taken_by_others(before, {10.5, 5, 2}, 1), 0) << "nobody had to wait";
  EXPECT_DOUBLE_EQ(taken_by_others(before, {12.1, 6, 2}, 1), 0) << "clocks are read one by one";
}

TEST_F(MadeTree, ReadsTheCpu) {
  write("proc/cpuinfo",
        "processor\t: 0\nmodel\t\t: 143\nmodel name\t: Xeon 8488C\nflags\t\t: fpu avx2 amx_tile\n");
  EXPECT_EQ(cpu(root).model, "Xeon 8488C");
  EXPECT_TRUE(cpu(root).has("amx_tile"));
  EXPECT_FALSE(cpu(root).has("amx"));
}

TEST_F(MadeTree, MemoryWithoutGroupsIsTheMachines) {
  write("proc/meminfo",
        "MemTotal:       8388608 kB\nMemFree:  1024 kB\nMemAvailable:    4194304 kB\n");
  EXPECT_EQ(memory(root).total, 8 * GiB);
  EXPECT_EQ(memory(root).free, 4 * GiB);
  EXPECT_FALSE(memory(root).cgroup_limit);
}

TEST_F(MadeTree, TheTightestLevelOfVersion2Counts) {
  write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/memory.max", "2147483648\n");
  write("sys/fs/cgroup/job/memory.current", "1073741824\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 1\ninactive_file 536870912\n");
  EXPECT_EQ(memory(root).cgroup_limit, 2 * GiB);
  EXPECT_EQ(memory(root).free, GiB + 512 * MiB);
}

TEST_F(MadeTree, TheMachineCountsWhenItIsTighterThanTheGroup) {
  write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 1048576 kB\n");
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "2147483648\n");
  EXPECT_EQ(memory(root).free, GiB);
}

TEST_F(MadeTree, MoreUsedThanTheLimitLeavesNothing) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "1000\n");
  write("sys/fs/cgroup/memory.current", "2000\n");
  EXPECT_EQ(memory(root).free, 0u);
}

TEST_F(MadeTree, Version1WithAHostPathThatIsNotVisible) {
  write("proc/self/cgroup", "9:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "536870912\n");
  write("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 268435456\n");
  EXPECT_EQ(cgroup_memory(root)->limit, GiB);
  EXPECT_EQ(cgroup_memory(root)->available, 768 * MiB);
}

TEST_F(MadeTree, Version1sHugeValueIsNoLimit) {
  write("proc/self/cgroup", "9:memory:/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(cgroup_memory(root));
}

TEST_F(MadeTree, AGroupPathCannotLeadOutOfTheMount) {
  write("proc/self/cgroup", "0::/../../../secret\n");
  write("secret/memory.max", "1\n");
  write("sys/fs/cgroup/memory.max", "4096\n");
  EXPECT_EQ(cgroup_memory(root)->limit, 4096u);
}

TEST_F(MadeTree, CpuQuotaOfVersion2) {
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/cpu.max", "50000 100000\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(*cgroup_cpu_quota(root), 0.5);
  EXPECT_EQ(usable_cores(root), 1);
}

TEST_F(MadeTree, CpuQuotaOfVersion1) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/job\n");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "150000\n");
  write("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(*cgroup_cpu_quota(root), 1.5);
}

TEST_F(MadeTree, Version1WithoutQuota) {
  write("proc/self/cgroup", "4:cpu:/\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(cgroup_cpu_quota(root));
}

TEST_F(MadeTree, GpusByTheirDriver) {
  write("proc/driver/nvidia/gpus/0000:01:00.0/information", "Model: \t\t NVIDIA H200\nIRQ: 5\n");
  EXPECT_THAT(nvidia_gpus(root), ElementsAre("NVIDIA H200"));
}

TEST_F(MadeTree, GpusByTheirDevices) {
  for (const char* name : {"nvidia1", "nvidia0", "nvidiactl", "nvidia-uvm", "null"})
    write(fs::path("dev") / name, "");
  EXPECT_THAT(nvidia_gpus(root), ElementsAre("/dev/nvidia0", "/dev/nvidia1"));
}

TEST(Host, ThisMachineHasCoresAndMemory) {
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), scheduled_cores());
  EXPECT_GT(memory().total.value_or(0), 0u);
}

}  // namespace
}  // namespace sweetspot::probe::proc
