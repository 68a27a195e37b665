#include "cli/flags/cluster_flags.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "cli/flags/flags.h"
#include "core/number.h"

namespace sweetspot::cli {
namespace {

// Set by the job's script.
constexpr const char* folder_variable = "SWEETSPOT_TASK_FOLDER";
constexpr int most_at_once = 10'000;

}  // namespace

void add_cluster_flags(CLI::App& app, ClusterFlags& flags) {
  CLI::Option* cluster = text_flag(
      app, "--cluster", "NAME", "slurm: run each trial as a task of an array job, on its own node",
      [&flags](const std::string& word) {
        index_of(word, {"slurm"}, "--cluster");
        flags.scheduler = word;
      });
  const auto passed_on = [&](const char* flag, const char* type, const char* help) {
    text_flag(app, flag, type, help, [&flags, flag](const std::string& text) {
      flags.sbatch.push_back(std::string(flag) + "=" + text);
    })->needs(cluster);
  };
  passed_on("--partition", "NAME", "with --cluster: the partition of its tasks");
  passed_on("--gres", "LIST", "with --cluster: what each task needs, such as gpu:1");
  passed_on("--time", "TIME", "with --cluster: the time limit of a task, as for sbatch: 0:30:00");
  passed_on("--account", "NAME", "with --cluster: the account to charge");
  app.add_option_function<std::vector<std::string>>(
         "--sbatch",
         [&flags](const std::vector<std::string>& words) {
           flags.sbatch.insert(flags.sbatch.end(), words.begin(), words.end());
         },
         "with --cluster: any other argument of sbatch, such as --sbatch=--constraint=h200; may be "
         "repeated")
      ->type_name("ARG")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->needs(cluster);
  whole_flag(app, "--at-once", flags.at_once, {0, most_at_once},
             "with --cluster: tasks that may run at the same time; 0: no limit")
      ->needs(cluster);
  app.add_flag(
         "--share-nodes", flags.share_nodes,
         "with --cluster: let other jobs run on a task's node, which may disturb the measurements")
      ->needs(cluster);
}

std::optional<ClusterTask> cluster_task() {
  const char* folder = std::getenv(folder_variable);
  const char* number = std::getenv("SLURM_ARRAY_TASK_ID");
  if (!folder || !*folder || !number) return std::nullopt;
  return ClusterTask{folder,
                     static_cast<std::size_t>(core::parse_whole(number, "SLURM_ARRAY_TASK_ID", 0))};
}

std::vector<std::string> task_command(const ClusterFlags& flags,
                                      const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> command{"env", std::string(folder_variable) + "=" + folder.string(),
                                   error ? "sweetspot" : program.string()};
  command.insert(command.end(), flags.arguments.begin(), flags.arguments.end());
  return command;
}

}  // namespace sweetspot::cli
