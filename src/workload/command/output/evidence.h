#pragma once
#include <string_view>

namespace sweetspot::workload::command::output {

// Does the line show that the program changed its batch by itself, or is set to?
bool shows_changed_batch(std::string_view line);
// Does the line show that memory ran out? What may have other causes (CUDNN_STATUS_NOT_SUPPORTED,
// "Killed") does not.
bool shows_memory_ran_out(std::string_view line);

}  // namespace sweetspot::workload::command::output
