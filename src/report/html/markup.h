#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace sweetspot::report {

// Text of others, for a page: what a browser or a reader's eye would obey made visible (controls,
// turned directions), clipped where it is longer than anybody reads. Not yet escaped.
constexpr std::size_t longest_shown = 2000;
std::string shown(std::string_view text, std::size_t most = longest_shown);
// Text as HTML and SVG take it, in elements and in quoted attributes.
std::string escaped_markup(std::string_view text);
// 9,123 as 9 123, with a narrow space that does not break.
std::string with_thin_spaces(std::string_view text);
// A number for people: at most four significant digits, thousands apart; "–" for what is none.
std::string number_words(double value);

}  // namespace sweetspot::report
