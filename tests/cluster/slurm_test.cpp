#include "cluster/slurm/slurm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::cluster::slurm {
namespace {

using trial::Outcome;
using State = Task::State;

std::string array_of_numbers(std::vector<std::size_t> numbers) { return array_of(numbers); }

TEST(SlurmArray, IsAsShortAsItCanBe) {
  EXPECT_EQ(array_of_numbers({0}), "0");
  EXPECT_EQ(array_of_numbers({0, 1, 2, 3}), "0-3");
  EXPECT_EQ(array_of_numbers({0, 1, 4, 6, 7, 8}), "0-1,4,6-8");
}

TEST(SlurmScript, PassesOnWhatItWasGiven) {
  Options options;
  options.arguments = {"--partition=gpu", "--gres=gpu:1", "--time=0:30:00", "--comment=two words"};
  options.at_once = 4;
  options.folder = "/shared/a folder";
  options.command = {"/opt/sweetspot", "sweep", "--batch", "16..64*2", "--", "python", "it's.py"};
  const std::size_t tasks[] = {0, 1, 2};
  const std::string script = job_script(options, tasks);
  EXPECT_TRUE(script.starts_with("#!/bin/bash\n#SBATCH "));
  EXPECT_WORDS(script);
  options.exclusive = false, options.at_once = 0;
  EXPECT_WORDS(job_script(options, tasks));
}

Task only(const std::string& line, const std::filesystem::path& folder = "/nowhere") {
  const std::vector<Task> tasks = parse_tasks(line, {}, folder);
  return tasks.size() == 1 ? tasks[0] : Task{};
}

TEST(SlurmStates, BecomeOutcomes) {
  const auto tasks = parse_tasks(
      "0|PENDING|Resources|\n1|RUNNING|None|node1\n2|COMPLETED|None|node1\n"
      "3|TIMEOUT|TimeLimit|node2\n4|OUT_OF_MEMORY|OutOfMemory|node2\n5|NODE_FAIL|None|node3\n"
      "6|PREEMPTED|None|node3\n7|CANCELLED|None|\n8|FAILED|NonZeroExitCode|node4\n",
      {}, "/nowhere");
  ASSERT_EQ(tasks.size(), 9u);
  for (std::size_t i = 0; i < tasks.size(); ++i) EXPECT_EQ(tasks[i].number, i);
  EXPECT_EQ(tasks[0].state, State::waiting);
  EXPECT_EQ(tasks[1].state, State::running);
  EXPECT_EQ(tasks[2].state, State::done);
  const Outcome outcomes[] = {Outcome::timed_out, Outcome::out_of_memory};
  for (const std::size_t i : {3u, 4u}) {
    EXPECT_EQ(tasks[i].state, State::failed);
    EXPECT_EQ(tasks[i].outcome, outcomes[i - 3]);
    EXPECT_WORDS(tasks[i].note);
  }
  EXPECT_EQ(tasks[5].state, State::lost);
  EXPECT_EQ(tasks[6].state, State::lost);
  EXPECT_EQ(tasks[7].outcome, Outcome::cancelled);
  EXPECT_EQ(tasks[8].outcome, Outcome::crashed);
}

TEST(SlurmStates, AreReadFromAccountsToo) {
  const std::size_t submitted[] = {0, 12, 13, 14};
  const auto tasks = parse_tasks(
      "123_0|COMPLETED|0:0|node1\n123_12|CANCELLED by 1000|0:0|node1\n"
      "123_[13-14]|PENDING|0:0|None assigned\n",
      submitted, "/nowhere");
  ASSERT_EQ(tasks.size(), 4u);
  EXPECT_EQ(tasks[0].state, State::done);
  EXPECT_EQ(tasks[1].number, 12u);
  EXPECT_EQ(tasks[1].outcome, Outcome::cancelled);
  EXPECT_EQ(tasks[3].number, 14u);
  EXPECT_EQ(tasks[3].state, State::waiting);
}

TEST(SlurmStates, TasksThatWereCancelledBeforeTheyBeganHaveOneLine) {
  const std::size_t submitted[] = {0, 1, 2};
  const auto tasks =
      parse_tasks("1|COMPLETED|None|node1\nN/A|CANCELLED|Resources|\n", submitted, "/nowhere");
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].state, State::done);
  for (const std::size_t i : {1u, 2u}) EXPECT_EQ(tasks[i].outcome, Outcome::cancelled);
  EXPECT_EQ(tasks[2].number, 2u);
}

TEST(SlurmStates, ALogTellsOfMemoryWhereTheStateDoesNot) {
  const tests::TemporaryFolder folder;
  std::ofstream(folder / "7.log") << "step 1\nslurmstepd-node1: error: Exceeded job memory limit\n";
  std::ofstream(folder / "8.log") << "error: no such file\n\n";
  EXPECT_EQ(only("7|FAILED|JobLaunchFailure|node1", folder.path()).outcome, Outcome::out_of_memory);
  const Task other = only("8|FAILED|NonZeroExitCode|node1", folder.path());
  EXPECT_EQ(other.outcome, Outcome::crashed);
  EXPECT_WORDS(other.note);
}

}  // namespace
}  // namespace sweetspot::cluster::slurm
