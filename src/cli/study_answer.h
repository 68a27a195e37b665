#pragma once
#include "cli/flags/study_flags.h"
#include "report/answer.h"

namespace sweetspot::cli {

class Output;

// The result on stdout: one object with --json, else one screen. `page`: the file of the report
// that will be left, or empty. The files asked for are written too.
void print_answer(const StudyFlags& flags, const report::Answer& answer, const std::string& page,
                  Output& output);

}  // namespace sweetspot::cli
