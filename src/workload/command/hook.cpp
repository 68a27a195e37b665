#include "workload/command/hook.h"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>

#include "core/text.h"
#include "workload/command/output/reader.h"
#include "workload/command/process/process.h"
#include "workload/command/verdict.h"

namespace sweetspot::workload::command {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int look_up_milliseconds = 100;  // for a stop

void wait(const process::Process& process) {
  std::vector<pollfd> all;
  for (const int fd : process.descriptors()) all.push_back({fd, POLLIN, 0});
  ::poll(all.data(), all.size(), look_up_milliseconds);
}

}  // namespace

std::optional<std::string> run_hook(const char* flag, const std::string& command,
                                    const Environment& environment, const Options& options,
                                    const Secrets& secrets, const Until& until,
                                    core::Seconds patience, const Workspace* workspace) {
  process::Launch launch;
  launch.argv = {"/bin/sh", "-c", command};
  launch.environment = environment;
  if (workspace)
    workspace->furnish(launch);
  else if (options.folder && used({options.folder->string()}) == Placeholders{})
    launch.folder = options.folder;
  process::Process process(launch);
  output::Reader output;  // only for its last lines
  const auto take = [&] {
    for (const process::Chunk& chunk : process.take()) output.feed(chunk.bytes, chunk.at_seconds);
  };
  const auto deadline = Clock::now() + options.hook_timeout;
  std::optional<Clock::time_point> told;
  bool given_up = false;
  while (!process.ended() && !given_up && Clock::now() < deadline) {
    wait(process);
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
  return secrets.redact(fmt::format("{} '{}': {}", flag, core::printable(command), reason));
}

}  // namespace sweetspot::workload::command
