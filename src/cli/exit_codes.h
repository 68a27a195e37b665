#pragma once
#include "study/loop.h"

namespace sweetspot::cli {

// Beside 0 and 1 (a fault of the machine). 2: of the input, or a question back.
constexpr int usage_exit = 2;
constexpr int nothing_feasible_exit = 3, partial_exit = 4, unfit_exit = 5;
constexpr int signal_exit = 128;  // and the signal's number

// For the shell: of a study that ended so, and `when_whole` of one that came to its end.
int end_exit_code(study::End end, int when_whole);

}  // namespace sweetspot::cli
