#pragma once
#include <functional>
#include <optional>
#include <string>

#include "workload/command/options.h"
#include "workload/command/redact.h"
#include "workload/command/workspace.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

// Runs a user's command through /bin/sh -c to its end, or until `give_up` says so. Returns why it
// failed, in a sentence that begins with `flag` and has no secrets, or nullopt. Processes it leaves
// running are ended. It runs in its trial's folder, or without a trial in that of the options.
std::optional<std::string> run_hook(const char* flag, const std::string& command,
                                    const Environment& environment, const Options& options,
                                    const Secrets& secrets, const std::function<bool()>& give_up,
                                    const Workspace* workspace = nullptr);

// For cleanup hooks, which run even when told to give up, with the same grace as a program.
std::function<bool()> after_grace(const Until& until, core::Seconds grace);

}  // namespace sweetspot::workload::command
