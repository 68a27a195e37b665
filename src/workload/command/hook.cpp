#include "workload/command/hook.h"

#include <fmt/format.h>

#include "core/text.h"
#include "workload/command/output/reader.h"
#include "workload/command/process/descriptor.h"
#include "workload/command/process/process.h"
#include "workload/command/verdict.h"

namespace sweetspot::workload::command {

std::optional<std::string> run_hook(const char* flag, const std::string& command,
                                    const Options& options, const Secrets& secrets,
                                    const Until& until, core::Seconds patience,
                                    const std::optional<HookedTrial>& trial) {
  process::Launch launch{.argv = {"/bin/sh", "-c", command}, .environment = options.environment};
  if (trial) {
    const trial::Setting given = handed(options, trial->setting);
    const Configs& configs = trial->workspace.configs();
    launch.argv.back() = expand(command, given, configs);
    launch.environment = trial_environment(options, given, configs);
    trial->workspace.furnish(launch);
  } else if (options.folder && used({options.folder->string()}).empty()) {
    launch.folder = options.folder;
  }
  using Clock = Until::Clock;
  process::Process process(launch);
  output::Reader output;  // only for its last lines
  const auto take = [&] {
    for (const process::Chunk& chunk : process.take()) output.feed(chunk.bytes, chunk.at_seconds);
  };
  const auto deadline = Clock::now() + options.hook_timeout;
  std::optional<Clock::time_point> told;
  bool given_up = false;
  while (!process.ended() && !given_up && Clock::now() < deadline) {
    process::wait_for_input(process.descriptors(), look_up_seconds);
    take();
    if (!told && (until.told_to_give_up() || until.time_is_up())) told = Clock::now();
    given_up = told && Clock::now() - *told >= patience;
  }
  take();
  const process::Ending ending = process.end(options.grace);
  if (ending.exit_code == 0 && !ending.stopped_by_us) return std::nullopt;
  std::string reason = failure_reason(ending, output.last_lines());
  if (ending.stopped_by_us)
    reason = given_up
                 ? "it was stopped"
                 : fmt::format("it did not end within {}; raise --hook-timeout if it needs longer",
                               core::format_duration(options.hook_timeout));
  return secrets.redact(
      fmt::format("{} '{}': {}", flag, core::printable(launch.argv.back()), reason));
}

}  // namespace sweetspot::workload::command
