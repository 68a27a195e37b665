#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace sweetspot::core {

// The batch sizes of a flag: "128", "16,32,64", "100..1000+100", "16..4096*2", "4..8", or any of
// these separated by commas. Ascending, without repeats, including the end if it is met. InputError
// names `what`.
std::vector<std::int64_t> parse_range(std::string_view text, std::string_view what);

}  // namespace sweetspot::core
