#pragma once
#include <cstdint>
#include <string>

#include "workload/command/output/reader.h"
#include "workload/command/process/process.h"
#include "workload/workload.h"

namespace sweetspot::workload::command {

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
