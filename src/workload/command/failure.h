#pragma once
#include <string>
#include <string_view>

#include "workload/command/process/process.h"

namespace sweetspot::workload::command {

// Why a program ended, in one short line: "exit code 1: ModuleNotFoundError: No module named 'x'",
// "signal SIGSEGV (Segmentation fault)".
std::string failure_reason(const process::Ending& ending, std::string_view last_output);

// Whether a progress bar is in it.
bool is_bar(std::string_view text);

// The line of a program's last ones that tells most: the exception of a Python traceback, what()
// of a C++ one, else the last that is no progress bar. Short; empty where there is none.
std::string telling_line(std::string_view last_output);

}  // namespace sweetspot::workload::command
