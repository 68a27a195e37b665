#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "workload/command/output/reader.h"
#include "workload/command/output/suggestion.h"
#include "workload/command/process/process.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

// Why a program ended, in one short line: "exit code 1: ModuleNotFoundError: No module named 'x'",
// "signal SIGSEGV (Segmentation fault)".
std::string failure_reason(const process::Ending& ending, std::string_view last_output);

// Whether a progress bar is in it.
bool is_bar(std::string_view text);

// The line of a program's last ones that tells most: the exception of a Python traceback, what()
// of a C++ one, else the last that is no progress bar. Short; empty where there is none.
std::string telling_line(std::string_view last_output);

// What the user can do about a program whose steps were not recognised: the rest of a sentence.
std::string how_to_show_steps(const output::Suggestion& suggestion);

// What is known of a program that made its last step.
struct Evidence {
  process::Ending ending;
  output::Findings findings;
  std::string last_output;        // without secrets
  output::Suggestion suggestion;  // where no step was recognised
  std::int64_t steps = 0, bad_client_lines = 0;
};

// It ran out of memory, and its output shows it: why, in few words.
Ended lacked_memory(const Evidence& evidence);

// Why it ended as it did. Only evidence makes a death one for want of memory: a lone SIGKILL may
// have come from anyone.
Ended verdict(const Evidence& evidence);

// It prints on and on, and no step is recognised in what it prints: to wait for its end would help
// nobody.
Ended unrecognised(const Evidence& evidence, core::Seconds after);
// When that is to be said, of a program that has printed for so long.
bool prints_in_vain(std::int64_t talking_seconds, output::Suggestion::Kind kind,
                    core::Seconds timeout, std::optional<core::Seconds> budget);
// What the budget's end cut off before its first step.
std::string cut_off(const Evidence& evidence);

// It still runs, and has not made a step for too long.
Ended timed_out(const Evidence& evidence, core::Seconds timeout);

// A sentence when --steps-regex was given up, or nothing: what came after that was not counted.
std::string regex_note(const output::Findings& findings);

}  // namespace sweetspot::workload::command
