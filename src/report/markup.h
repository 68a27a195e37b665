#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/fields.h"

namespace sweetspot::report {

// Foreign text for a page: control characters and bidirectional controls made visible, and
// truncated. Not yet escaped.
constexpr std::size_t longest_shown = 2000;
std::string shown(std::string_view text, std::size_t most = longest_shown);
// Text escaped for HTML and SVG, in elements and in quoted attributes.
std::string escaped_markup(std::string_view text);
// 9,123 as 9 123, with a narrow space that does not break.
std::string with_thin_spaces(std::string_view text);
// A number for users: at most four significant digits, with thousands separators; "–" if not
// finite.
std::string number_words(double value);

// The trials as the page shows them, declared once for its script and for the HTML without scripts:
// the fields of tables, and a few that only a page has space for.
struct PageTable {
  struct Column {
    std::string title;
    bool left = false;
  };
  struct Line {
    std::size_t trial = 0;           // its index in the answer
    std::vector<std::string> cells;  // for users, not yet escaped
    std::vector<Value> keys;         // to sort by
  };
  std::vector<Column> columns;
  std::vector<Line> lines;
};
PageTable page_table(const ShownStudy& study);

}  // namespace sweetspot::report
