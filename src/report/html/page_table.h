#pragma once
#include <string>
#include <vector>

#include "report/exports/fields.h"

namespace sweetspot::report {

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
