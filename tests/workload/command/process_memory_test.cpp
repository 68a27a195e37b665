// Memory, the OOM killer and CPU time of a whole tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "workload/command/process/peak_memory.h"
#include "workload/command/process_support.h"

namespace sweetspot::workload::command::process {
namespace {

// 200 MB in a grandchild that says so, then waits.
const std::string large_grandchild =
    "import os, time\n"
    "if os.fork() == 0:\n"
    "  block = b'x' * 200_000_000\n"
    "  print('ready', flush=True)\n"
    "  while True: time.sleep(100)\n"
    "time.sleep(100)";
constexpr core::Bytes block_bytes = 200'000'000;

TEST(ProcessMemory, HasAGrandchildsAllocationInIt) {
  Process process(python(large_grandchild));
  read_until(process, "ready");
  const auto memory = process.memory();
  ASSERT_TRUE(memory);
  EXPECT_GE(memory->peak, block_bytes);
  EXPECT_LT(memory->peak, 2 * block_bytes);
  const Ending ending = process.end(core::Seconds(0));
  ASSERT_TRUE(ending.memory);
  EXPECT_GE(ending.memory->peak, block_bytes);
  EXPECT_EQ(ending.memory->how, memory->how);
}

TEST(ProcessMemory, IsAddedUpWhereThereIsNoCgroup) {
  Process process(python(large_grandchild));
  const auto parent = [&] {
    read_until(process, "ready");
    return own_children();
  }();
  ASSERT_EQ(parent.size(), 1u);  // the supervisor
  const Tree tree(parent.front(), nullptr, "SWEETSPOT_TREE=none");
  EXPECT_EQ(tree.members().size(), 2u);
  PeakMemory peak_memory(tree, nullptr);
  peak_memory.sample();
  ASSERT_TRUE(peak_memory.peak());
  EXPECT_GE(peak_memory.peak()->peak, block_bytes);
  EXPECT_LT(peak_memory.peak()->peak, 2 * block_bytes);
  EXPECT_THAT(peak_memory.peak()->how, testing::EndsWith("over the tree"));
}

// A busy machine made one reading take so long that the next was not due within the next trial.
TEST(ProcessMemory, IsReadForEachTrialHoweverDearTheReadingBeforeWas) {
  PeakMemory peak_memory([] {
    const timespec dear{0, 20'000'000};  // the next is due after a hundred times this
    nanosleep(&dear, nullptr);
    return std::vector<pid_t>{getpid()};
  });
  peak_memory.sample();
  ASSERT_TRUE(peak_memory.peak());
  peak_memory.forget();
  peak_memory.sample();
  EXPECT_TRUE(peak_memory.peak());
}

TEST(ProcessMemory, LeavesOutThePageCache) {
  // 100 MB written to a file and read back are in the page cache, and can be reclaimed.
  Process process(
      python("import tempfile\n"
             "with tempfile.TemporaryFile(dir='/var/tmp') as file:\n"
             "  for i in range(100): file.write(b'x' * 1_000_000)\n"
             "  file.seek(0)\n"
             "  while file.read(1_000_000): pass\n"
             "  print('ready', flush=True)\n"
             "  import time; time.sleep(100)"));
  read_until(process, "ready");
  const auto memory = process.memory();
  ASSERT_TRUE(memory);
  EXPECT_LT(memory->peak, 60'000'000u) << memory->how;
}

TEST(ProcessMemory, ALimitIsKeptAndTheOomKillerIsSeen) {
  Launch launch = python("block = b'x' * 500_000_000\nprint('survived')");
  launch.memory_limit = 100 * core::MiB;
  Process process(launch);
  if (!process.memory_limited()) GTEST_SKIP() << "no cgroup that limits memory may be made here";
  EXPECT_EQ(read_all(process).out, "");
  const Ending ending = process.end(core::Seconds(0));
  EXPECT_EQ(ending.signal, SIGKILL);
  EXPECT_TRUE(ending.oom_killed);
  EXPECT_FALSE(ending.stopped_by_us);
  ASSERT_TRUE(ending.memory);
  EXPECT_LE(ending.memory->peak, 100 * core::MiB);
}

TEST(ProcessMemory, AKillIsNotTakenForTheOomKillers) {
  Process process(shell("kill -KILL $$"));
  read_all(process);
  const Ending ending = process.end(core::Seconds(0));
  EXPECT_EQ(ending.signal, SIGKILL);
  EXPECT_FALSE(ending.oom_killed);
}

TEST(ProcessMemory, CpuTimeIsThatOfTheWholeTree) {
  // Both children use 0.2 s; the program waits for one, the other is left to the supervisor.
  const std::string burn = "'import time\\nwhile time.process_time() < 0.2: pass'";
  Process process(
      python("import subprocess, sys, os\n"
             "subprocess.run([sys.executable, '-c', " +
             burn +
             "])\n"
             "subprocess.Popen([sys.executable, '-c', " +
             burn + "])"));
  read_all(process);
  const double seconds = process.end(core::Seconds(0)).cpu_seconds;
  EXPECT_GE(seconds, 0.4);
}

}  // namespace
}  // namespace sweetspot::workload::command::process
