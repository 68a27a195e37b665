#pragma once
#include "study/loop.h"

namespace sweetspot::cli {

// Besides 0 and 1 (a fault of the machine). 2: bad input, or a question to the user.
constexpr int usage_exit = 2;
constexpr int nothing_feasible_exit = 3, partial_exit = 4, unfit_exit = 5;
constexpr int signal_exit = 128;  // and the signal's number

// For the shell: the code of a study that ended this way, and `when_whole` for a complete one.
int end_exit_code(advise::CutShort end, int when_whole);

}  // namespace sweetspot::cli
