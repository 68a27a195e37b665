#pragma once
#include <cstdint>
#include <limits>
#include <string_view>

namespace sweetspot::core {

// An integer between the bounds and nothing after it; InputError names `what`.
std::int64_t parse_whole(std::string_view text, std::string_view what, std::int64_t least,
                         std::int64_t most = std::numeric_limits<std::int64_t>::max());

// A finite number between the bounds and nothing after it; InputError names `what`.
struct Bound {
  double value = 0;
  bool inclusive = true;
};
double parse_real(std::string_view text, std::string_view what, Bound least, Bound most);

}  // namespace sweetspot::core
