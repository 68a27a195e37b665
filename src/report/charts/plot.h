#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "report/shown_study.h"

namespace sweetspot::report {

// Dots finer than characters: a cell is 2 × 4 dots of braille, or one dot in ASCII. The origin is
// at the top left.
class Canvas {
 public:
  Canvas(std::size_t columns, std::size_t rows, bool braille);

  // Coordinates in [0, 1], y upwards.
  void line(double x0, double y0, double x1, double y1);
  void mark(double x, double y, const std::string& character);  // over the dots
  std::size_t column(double x) const;
  std::string row(std::size_t row) const;  // without trailing blanks

 private:
  void dot(std::int64_t x, std::int64_t y);
  std::size_t row_of(double y) const;

  std::size_t columns_, rows_;
  bool braille_;
  std::vector<std::uint8_t> dots_;  // (rows, columns): one bit per dot
  std::vector<std::string> marks_;
};

struct PlotOptions {
  std::size_t width = 72, height = 12;  // of the whole, axes included
  bool utf8 = true;                     // else ASCII
};

// Throughput over the batch (on a logarithmic axis) as lines of text, with the chosen batch marked;
// empty below two batches.
std::string plot(const ShownStudy& study, const PlotOptions& options);

}  // namespace sweetspot::report
