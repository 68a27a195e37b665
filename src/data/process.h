#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace sweetspot::data {

// Runs a program found on PATH to its end, without a shell and without input; all that it prints
// goes to `log`. Gives "" when it exits with 0, or how it ended ("exited with 1", "was killed by
// signal 9", "cannot be run: No such file or directory").
std::string run_program(const std::vector<std::string>& arguments,
                        const std::filesystem::path& log);

}  // namespace sweetspot::data
