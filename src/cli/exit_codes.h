#pragma once

namespace sweetspot::cli {

// Beside 0 and 1 (a fault of the machine). 2: of the input, or a question back.
constexpr int usage_exit = 2;
constexpr int nothing_feasible_exit = 3, partial_exit = 4, unfit_exit = 5;
constexpr int signal_exit = 128;  // and the signal's number

}  // namespace sweetspot::cli
