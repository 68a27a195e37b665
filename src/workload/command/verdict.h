#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "workload/command/client/message.h"
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

// The most informative of a program's last lines: the exception of a Python traceback, what() of a
// C++ one, else the last that is not a progress bar. Short; empty if there is none.
std::string telling_line(std::string_view last_output);

// What the user can do about unrecognised steps: the rest of a sentence.
std::string how_to_show_steps(const output::Suggestion& suggestion);

// What is known of a program when it has made its last step, or seems to have. Without secrets.
struct ProgramEnd {
  process::Ending ending;
  output::Findings findings;
  std::string last_output;
  output::Suggestion suggestion;         // if no step was recognised
  std::optional<client::Failed> failed;  // the setting, by its client
  std::int64_t steps = 0, bad_client_lines = 0;
};

// Why it ended. Only evidence makes it out of memory: a lone SIGKILL may have come from anyone.
Ended verdict(const ProgramEnd& known);

// It keeps printing without a recognised step: waiting for its end would not help.
Ended unrecognised(const ProgramEnd& known, core::Seconds after);
// Whether to conclude that, for a program that has printed for this long.
bool prints_in_vain(std::int64_t talking_seconds, output::Suggestion::Kind kind,
                    core::Seconds timeout, std::optional<core::Seconds> budget);

// It requested another setting. `starts_anew`: it will be ended for the memory that it keeps.
Ended asked_again(const ProgramEnd& known, bool starts_anew);
Ended client_went_away(const ProgramEnd& known);  // and the program still runs
Ended changed_its_batch(const ProgramEnd& known);
// The user's stop came first, or the deadline: then what was measured so far may be enough, which
// the caller knows.
Ended stopped();
Ended out_of_time(const ProgramEnd& known);

// It still runs, and has made no step for too long.
Ended timed_out(const ProgramEnd& known, core::Seconds timeout);

// A sentence if --steps-regex was given up, or empty: nothing after that was counted.
std::string regex_note(const output::Findings& findings);

}  // namespace sweetspot::workload::command
