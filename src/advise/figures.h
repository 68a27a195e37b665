#pragma once
#include <functional>
#include <span>
#include <string>

#include "advise/advise.h"
#include "advise/json_form.h"

namespace sweetspot::advise {

// A figure in words, with what is beside it: "97%", "±2".
struct Cell {
  std::string words, aside{};
};

// One figure of an answer, declared once for every format: a column of its tables on terminal and
// in markdown, a field of its rows in JSON, and one of the numbers above the page's charts.
struct Figure {
  const char* json = nullptr;   // in the rows; nullptr: of the answer alone
  const char* title = nullptr;  // of its column; {} is the tolerance in percent
  const char* short_title = nullptr;
  const char* page_title = nullptr;  // nullptr: not on the page
  bool left = false;
  bool always = true;  // else it is shown only if some batch has it
  Cell (*cell)(const BatchRow&, const Recommendation&) = nullptr;
  // On the page; empty: not there. nullptr: the cell of the chosen batch.
  std::function<std::string(const Recommendation&)> of_answer{};
  void (*write)(JsonWriter&, const char* key, const BatchRow&) = nullptr;
  void (*read)(JsonReader&, const char* key, BatchRow&) = nullptr;
};
std::span<const Figure> figures();

}  // namespace sweetspot::advise
