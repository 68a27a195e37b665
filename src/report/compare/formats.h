#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/compare/compare.h"
#include "report/table.h"

namespace sweetspot::report::compare {

// For users: A and B, the table by batch, the knees, the differences, the verdict.
std::string text(const Comparison& comparison);
// The same as markdown, the verdict first.
std::string markdown(const Comparison& comparison);
constexpr int schema_version = 1;
// One object, schema_version first.
nlohmann::ordered_json json(const Comparison& comparison);
// One self-contained page without scripts, with the chart of both.
std::string html(const Comparison& comparison);

// By batch: speeds, their ratio, memory, the verdict. Cells are for users; foreign text is made
// printable.
struct Cells {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};
Cells batch_cells(const Comparison& comparison);
Cells difference_cells(const Comparison& comparison);
std::string table(const Cells& cells);

// Foreign text, truncated to a cell.
std::string short_cell(const std::string& value);
// "45,120 ±1.2%"
std::string speed_words(const Point& point);

// "A: fastest at batch 512 with 45,120 samples/s; knee 128 with 43,000 samples/s".
std::string knee_words(const std::string& side, const std::optional<Measured>& found);

// What the intervals do not include, or empty.
std::string caveat(const Comparison& comparison);

}  // namespace sweetspot::report::compare
