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

// Why it ended as it did. Only evidence makes a death one for want of memory: a lone SIGKILL may
// have come from anyone.
Ended verdict(const Evidence& evidence);

// It still runs, and has not made a step for too long.
Ended timed_out(const Evidence& evidence, core::Seconds timeout);

// A sentence when --steps-regex was given up, or nothing: what came after that was not counted.
std::string regex_note(const output::Findings& findings);

// What it printed last, as the end of a sentence: one line, bounded. Empty where there is nothing.
std::string quoted_tail(const std::string& last_output);

}  // namespace sweetspot::workload::command
