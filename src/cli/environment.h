#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace sweetspot::cli {

std::string version_line();  // "sweetspot 0.1.0 (45c4932, Release)"

// What every result carries: the program, the machine and what of it was used.
nlohmann::ordered_json environment(int threads);

}  // namespace sweetspot::cli
