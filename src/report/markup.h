#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/fields.h"

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

// The trials as the page shows them, declared once for its script and for the HTML that shows
// without it: the fields that tables show, and a few that only a page has room for.
struct PageTable {
  struct Column {
    std::string title;
    bool left = false;
  };
  struct Line {
    std::size_t trial = 0;           // its place in the answer
    std::vector<std::string> cells;  // for people, not yet escaped
    std::vector<Value> keys;         // to sort by
  };
  std::vector<Column> columns;
  std::vector<Line> lines;
};
PageTable page_table(const Answer& answer);

}  // namespace sweetspot::report
