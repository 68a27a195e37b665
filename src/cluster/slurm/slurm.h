#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/scheduler.h"

namespace sweetspot::cluster::slurm {

struct Options {
  std::string job_name = "sweetspot";
  std::vector<std::string> arguments;  // for sbatch, as they are: "--partition=gpu"
  int at_once = 0;               // tasks that may run at the same time; 0: as many as there is room
  bool exclusive = true;         // each with its node to itself
  std::filesystem::path folder;  // of the tasks' logs; every node sees it
  std::vector<std::string> command;  // of a task, which finds its number in the environment
};

// What sbatch is given: an array job. Its first line tells the shell, the next ones Slurm.
std::string job_script(const Options& options, std::span<const std::size_t> tasks);

// "0-3,7,9-10"
std::string array_of(std::span<const std::size_t> tasks);

// Reads what `squeue --format=%K|%T|%r|%N` or `sacct` says of a job's tasks. A line without a
// task's number is of those that have no line of their own, since they never began. The logs of
// those that failed are in the folder: Slurm does not always say that it killed a task for its
// memory, but writes it there.
std::vector<Task> parse_tasks(std::string_view text, std::span<const std::size_t> submitted,
                              const std::filesystem::path& folder);

// Slurm's own commands, found on PATH.
std::unique_ptr<Scheduler> open(const Options& options);

}  // namespace sweetspot::cluster::slurm
