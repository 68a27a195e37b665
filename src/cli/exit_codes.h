#pragma once
#include "trial/end.h"

namespace sweetspot::cli {

// Besides 0 and 1 (a fault of the machine). 2: bad input, or a question to the user.
constexpr int usage_exit = 2;
constexpr int nothing_feasible_exit = 3, partial_exit = 4, unfit_exit = 5;
constexpr int signal_exit = 128;  // and the signal's number

// Of a study that ended this way.
int exit_code(trial::End end);

}  // namespace sweetspot::cli
