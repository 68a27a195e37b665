#pragma once
#include <functional>
#include <optional>
#include <string>

#include "workload/command/options.h"
#include "workload/command/redact.h"
#include "workload/command/workspace.h"

namespace sweetspot::workload::command {

// Runs a command of the user's through /bin/sh -c to its end, or until `give_up` says so. Gives why
// it failed, in a sentence that begins with `flag` and has no secrets, or nothing. What it leaves
// running is ended. It runs where its trial does, or for no trial where the options say.
std::optional<std::string> run_hook(const char* flag, const std::string& command,
                                    const Environment& environment, const Options& options,
                                    const Secrets& secrets, const std::function<bool()>& give_up,
                                    const Workspace* workspace = nullptr);

bool told_to_give_up(const Options& options);
// The same for what tidies up, which is run even then: once it has had the grace that a program
// has.
std::function<bool()> after_grace(const Options& options);

}  // namespace sweetspot::workload::command
