#pragma once
#include <nlohmann/json_fwd.hpp>

#include "report/shown_study.h"

namespace sweetspot::report {

// What the page draws: report::json's object, plus `series`, `table` and, for each trial, its
// epochs, its readings and its raw step times (docs/report.md has the format). Foreign text is made
// visible and truncated. Takes ownership of the answer, since copying two million steps is
// noticeable.
nlohmann::ordered_json page_data(ShownStudy study);

// The raw steps of one trial, as `raw_steps` of a trial; null if there are none.
nlohmann::ordered_json page_steps(const trial::Trial& trial);

}  // namespace sweetspot::report
