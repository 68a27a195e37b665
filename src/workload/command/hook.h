#pragma once
#include <optional>
#include <string>

#include "workload/command/options.h"
#include "workload/command/redact.h"

namespace sweetspot::workload::command {

// Runs a command of the user's through /bin/sh -c to its end. Gives why it failed, in a sentence
// that begins with `flag` and has no secrets, or nothing. What it leaves running is ended.
std::optional<std::string> run_hook(const char* flag, const std::string& command,
                                    const Environment& environment, const Options& options,
                                    const Secrets& secrets);

bool told_to_give_up(const Options& options);

}  // namespace sweetspot::workload::command
