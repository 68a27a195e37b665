#pragma once
#include "cli/study_flags.h"
#include "report/answer.h"

namespace sweetspot::cli {

class Output;

// The result on stdout: one object with --json, else table, plot, sentence, reasons and command.
// The files asked for are written too.
void print_answer(const StudyFlags& flags, const report::Answer& answer, Output& output);

}  // namespace sweetspot::cli
