#pragma once
#include <cstdint>
#include <span>

#include "cli/flags/study_flags.h"
#include "report/answer.h"

namespace sweetspot::cli {

class Output;

// The result of a sweep by epochs on stdout: one object with --json, else the tables and a
// sentence. The files asked for are written too.
void print_epochs(const StudyFlags& flags, const report::Answer& answer,
                  std::span<const std::int64_t> epochs, Output& output);

}  // namespace sweetspot::cli
