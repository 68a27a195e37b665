#pragma once
#include <string>

#include "sweep/sweep.h"

namespace sweetspot::cli {

// How a sweep ended, for its answer, for people and for the shell. `any_ok`: some point could be
// tried.
std::string sweep_status(const sweep::SweepResult& result, bool any_ok);
std::string sweep_message(const sweep::SweepResult& result, bool any_ok);
int sweep_exit_code(const sweep::SweepResult& result, bool any_ok);

}  // namespace sweetspot::cli
