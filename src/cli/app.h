#pragma once
#include <string>
#include <vector>

namespace sweetspot::cli {

// Parses, runs the command, and turns every failure into one sentence on stderr. Returns the exit
// code: 0 done, 1 a fault of the machine or ours, 2 usage or bad input, 128 + n after signal n.
int run(const std::vector<std::string>& arguments);

}  // namespace sweetspot::cli
