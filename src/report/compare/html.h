#pragma once
#include <string>

#include "report/compare/compare.h"
#include "report/compare/formats.h"

namespace sweetspot::report::compare {

// Parts of the pages that compare studies. Text is escaped here.
std::string escaped(const std::string& text);
// For our own sentences: numbers as on the other pages.
std::string numbered(const std::string& text);

// A page without scripts around `body`, which is markup.
std::string page(const std::string& title, const std::vector<std::string>& studies,
                 const std::string& body);
// Scrollable if it is too wide, also by keyboard; empty for an empty drawing.
std::string figure(const std::string& id, const std::string& drawing);
std::string fact(const std::string& name, const std::string& value);
std::string table_html(const std::string& title, const std::string& id, const Cells& cells,
                       std::string (*words)(const std::string&));

// "A", "B", "C": the names of the studies on a page.
std::string letter(std::size_t place);

// The throughput of both by batch, with intervals.
std::string speed_chart(const Comparison& comparison);
// B over A by batch, with intervals; empty if no batch was measured in both.
std::string ratio_chart(const Comparison& comparison);

}  // namespace sweetspot::report::compare
