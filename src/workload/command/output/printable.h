#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace sweetspot::workload::command::output {

// At most `most_bytes` of a line as valid UTF-8 with no control characters: what is neither becomes
// '?', and a cut is shown as "…".
std::string printable_line(std::string_view line, std::size_t most_bytes = 400);

}  // namespace sweetspot::workload::command::output
