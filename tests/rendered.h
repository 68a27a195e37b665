#pragma once
#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "rendered.h"

// The structure of a rendered text, so that a test asserts a cell or an element and not a sentence
// (those are in words.txt, see words.h).
namespace sweetspot::tests {

using Cells = std::vector<std::string>;

// The rows of the markdown tables in a text, each as its cells without padding; the rules below
// headings are skipped.
inline std::vector<Cells> cells_of(const std::string& text) {
  std::vector<Cells> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("|") || line.find_first_not_of("|-: ") == line.npos) continue;
    Cells row;
    for (std::size_t begin = 1, end = 0; begin < line.size(); begin = end + 1) {
      end = begin;
      while (end < line.size() && (line[end] != '|' || line[end - 1] == '\\')) ++end;
      const std::string cell = line.substr(begin, end - begin);
      const std::size_t first = std::min(cell.find_first_not_of(' '), cell.size());
      row.push_back(cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// One cell of each row below the heading.
inline Cells column_of(const std::string& text, std::size_t index = 0) {
  Cells column;
  const std::vector<Cells> rows = cells_of(text);
  for (std::size_t i = 1; i < rows.size(); ++i)
    column.push_back(index < rows[i].size() ? rows[i][index] : "");
  return column;
}

// A text without the rows of its tables: their headings and the text between them.
inline std::string headings_of(const std::string& text) {
  std::string kept;
  std::istringstream lines(text);
  bool in_table = false;
  for (std::string line; std::getline(lines, line);) {
    if (!in_table || !line.starts_with("|")) kept += line + "\n";
    in_table = line.starts_with("|");
  }
  return kept;
}

// The content of each element of a name in a page, verbatim; only those with an attribute if it
// follows the name.
inline std::vector<std::string> elements_of(const std::string& page, const std::string& name) {
  std::vector<std::string> found;
  for (std::size_t at = 0; (at = page.find("<" + name, at)) != page.npos; ++at) {
    const std::size_t after = at + 1 + name.size();
    if (after >= page.size() || (page[after] != '>' && page[after] != ' ')) continue;
    const std::size_t begin = page.find('>', after) + 1;
    const std::string closing = "</" + name.substr(0, name.find(' ')) + ">";
    found.push_back(page.substr(begin, page.find(closing, begin) - begin));
  }
  return found;
}

// The texts of a page, for each element of these names in turn: one per line.
inline std::string texts_of(const std::string& page, const std::vector<std::string>& names) {
  std::string lines;
  for (const std::string& name : names)
    for (const std::string& text : elements_of(page, name)) lines += name + ": " + text + "\n";
  return lines;
}

// The forbidden parts, such as secrets, escapes and foreign markup, that the text contains.
inline std::vector<std::string> found_in(const std::string& text,
                                         const std::vector<std::string>& parts) {
  std::vector<std::string> found;
  std::ranges::copy_if(parts, std::back_inserter(found),
                       [&](const std::string& part) { return text.find(part) != text.npos; });
  return found;
}

}  // namespace sweetspot::tests
