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
  std::vector<std::string> arguments;  // for sbatch, unchanged: "--partition=gpu"
  int at_once = 0;                     // tasks that may run at the same time; 0: no limit
  bool exclusive = true;               // each alone on its node
  std::filesystem::path folder;        // of the tasks' logs; visible to every node
  std::vector<std::string> command;    // of a task, which finds its number in the environment
};

// The sbatch script: an array job. Its first line is for the shell, the next ones are for Slurm.
std::string job_script(const Options& options, std::span<const std::size_t> tasks);

// "0-3,7,9-10"
std::string array_of(std::span<const std::size_t> tasks);

// Parses the output of `squeue --format=%K|%T|%r|%N` or `sacct` for a job's tasks. A line without a
// task number covers those without their own line, since they never began. The logs of failed ones
// are in the folder: Slurm does not always report that it killed a task for its memory, but writes
// it there.
std::vector<Task> parse_tasks(std::string_view text, std::span<const std::size_t> submitted,
                              const std::filesystem::path& folder);

// Slurm's own commands, found on PATH.
std::unique_ptr<Scheduler> open(const Options& options);

}  // namespace sweetspot::cluster::slurm
