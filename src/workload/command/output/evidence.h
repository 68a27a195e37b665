#pragma once
#include <string_view>

namespace sweetspot::workload::command::output {

// Does the line show that the program changed its batch by itself, or is set to?
bool shows_changed_batch(std::string_view line);

}  // namespace sweetspot::workload::command::output
