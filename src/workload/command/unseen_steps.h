#pragma once
#include <string>

#include "workload/command/output/suggestion.h"

namespace sweetspot::workload::command {

// What the user can do about a program whose steps were not recognised: the rest of a sentence.
std::string how_to_show_steps(const output::Suggestion& suggestion);

}  // namespace sweetspot::workload::command
