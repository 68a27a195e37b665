#pragma once
#include <nlohmann/json_fwd.hpp>

#include "report/answer.h"

namespace sweetspot::report {

// What the page draws: report::json's object, and beside it `series`, `table` and, for each trial,
// its epochs, its readings and its raw step times (docs/report.md has the form). Text of others is
// made visible and clipped. Takes the answer over, since copying two million steps shows.
nlohmann::ordered_json page_data(Answer answer);

// The raw steps of one trial alone, as `raw_steps` of a trial; null where there are none.
nlohmann::ordered_json page_steps(const trial::Trial& trial);

}  // namespace sweetspot::report
