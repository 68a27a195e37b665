#pragma once
#include "advise/rank_plan.h"
#include "cli/flags/study_flags.h"
#include "report/answer.h"

namespace sweetspot::cli {

class Output;

// The result on stdout: one object with --json, else one screen. `page`: the file of the report
// that will be left, or empty; `plan`: for more ranks, where it was asked for. The files asked for
// are written too.
void print_answer(const StudyFlags& flags, const report::Answer& answer, const std::string& page,
                  const advise::RankPlan* plan, Output& output);

}  // namespace sweetspot::cli
