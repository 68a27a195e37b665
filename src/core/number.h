#pragma once
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace sweetspot::core {

// More is a typing error; no product or sum of a range's numbers overflows.
constexpr std::int64_t most_batch = std::int64_t{1} << 40;

// An integer between the bounds and nothing after it; InputError names `what`.
std::int64_t parse_whole(std::string_view text, std::string_view what, std::int64_t least,
                         std::int64_t most = std::numeric_limits<std::int64_t>::max());

// A finite number between the bounds and nothing after it; InputError names `what`.
struct Bound {
  double value = 0;
  bool inclusive = true;
};
double parse_real(std::string_view text, std::string_view what, Bound least, Bound most);
// A share above 0 and up to `most`, as "5%" or "0.05"; InputError names `what`.
double parse_share(std::string_view text, std::string_view what, double most);

// The batch sizes of a flag: "128", "16,32,64", "100..1000+100", "16..4096*2", "4..8", or any of
// these separated by commas. Ascending, without repeats, including the end if it is met. InputError
// names `what`.
std::vector<std::int64_t> parse_range(std::string_view text, std::string_view what);

}  // namespace sweetspot::core
