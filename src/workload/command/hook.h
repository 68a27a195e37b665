#pragma once
#include <optional>
#include <string>

#include "workload/command/options.h"
#include "workload/command/redact.h"
#include "workload/command/workspace.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

// What a hook of a trial is run for, and in.
struct HookedTrial {
  trial::Setting setting;
  const Workspace& workspace;
};

// Runs a user's command through /bin/sh -c to its end, or until this long after `until` says so:
// what cleans up may take as long as a program may to end. Returns why it failed, in a sentence
// that begins with `flag` and has no secrets, or nullopt. Processes it leaves running are ended. It
// runs in its trial's folder, or without a trial in that of the options.
std::optional<std::string> run_hook(const char* flag, const std::string& command,
                                    const Options& options, const Secrets& secrets,
                                    const Until& until, core::Seconds patience = core::Seconds(0),
                                    const std::optional<HookedTrial>& trial = std::nullopt);

}  // namespace sweetspot::workload::command
