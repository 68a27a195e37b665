#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace sweetspot::cli {

// --cluster and what is passed on to its scheduler.
struct ClusterFlags {
  std::string scheduler;            // "slurm"; empty: this machine
  std::vector<std::string> sbatch;  // "--partition=gpu"
  int at_once = 0;
  bool share_nodes = false;
  std::vector<std::string> arguments;  // the whole command line, which every task runs too

  bool given() const { return !scheduler.empty(); }
};
void add_cluster_flags(CLI::App& app, ClusterFlags& flags);

// This process as a task of such a job; nullopt if it is not.
struct ClusterTask {
  std::filesystem::path folder;
  std::size_t number = 0;
};
std::optional<ClusterTask> cluster_task();

// The command line of a task: this program with the same arguments, and the folder of its job.
std::vector<std::string> task_command(const ClusterFlags& flags,
                                      const std::filesystem::path& folder);

}  // namespace sweetspot::cli
