#include <fmt/format.h>

#include "cluster/slurm/slurm.h"
#include "core/shell.h"

namespace sweetspot::cluster::slurm {

std::string array_of(std::span<const std::size_t> tasks) {
  std::string text;
  for (std::size_t from = 0; from < tasks.size();) {
    std::size_t to = from;
    while (to + 1 < tasks.size() && tasks[to + 1] == tasks[to] + 1) ++to;
    text += fmt::format("{}{}", text.empty() ? "" : ",", tasks[from]);
    if (to > from) text += fmt::format("-{}", tasks[to]);
    from = to + 1;
  }
  return text;
}

// Slurm requeues a task that is removed from its node, if possible; it sends SIGTERM first, and the
// task stops. `exec`: the signal reaches the program, not a waiting shell.
std::string job_script(const Options& options, std::span<const std::size_t> tasks) {
  std::string text = "#!/bin/bash\n";
  const auto option = [&](const std::string& words) { text += "#SBATCH " + words + "\n"; };
  option("--job-name=" + core::shell_word(options.job_name));
  option("--array=" + array_of(tasks) +
         (options.at_once > 0 ? fmt::format("%{}", options.at_once) : ""));
  option("--output=" + core::shell_word((options.folder / "%a.log").string()));
  option("--open-mode=append");
  option("--requeue");
  if (options.exclusive) option("--exclusive");
  for (const std::string& argument : options.arguments) option(core::shell_word(argument));
  text += "exec";
  for (const std::string& word : options.command) text += " " + core::shell_word(word);
  return text + "\n";
}

}  // namespace sweetspot::cluster::slurm
