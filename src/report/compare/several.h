#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "report/compare/compare.h"

namespace sweetspot::report::compare {

// More than two studies: each compared with the first, which is A.
struct Several {
  std::vector<std::string> names;    // of A, B, C, …
  std::vector<Comparison> to_first;  // B to A, C to A, …
};
constexpr std::size_t most_compared = 12;  // columns of a table
Several compare(const std::vector<Side>& sides);

// The forms of formats.h.
std::string text(const Several& several);
std::string markdown(const Several& several);
nlohmann::ordered_json json(const Several& several);
std::string html(const Several& several);

}  // namespace sweetspot::report::compare
