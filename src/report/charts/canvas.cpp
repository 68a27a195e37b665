#include "report/charts/canvas.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sweetspot::report {
namespace {

constexpr std::size_t dots_across = 2, dots_down = 4;

// Unicode's order of the eight dots: the first six by columns, the last two as a fourth row.
constexpr std::uint8_t bit_of[dots_down][dots_across] = {
    {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

// U+2800 + bits, as UTF-8.
std::string braille_character(std::uint8_t bits) {
  return {static_cast<char>(0xE2), static_cast<char>(0xA0 | bits >> 6),
          static_cast<char>(0x80 | (bits & 0x3F))};
}

std::size_t cell(double share, std::size_t cells) {
  const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(cells - 1);
  return static_cast<std::size_t>(std::lround(at));
}

}  // namespace

Canvas::Canvas(std::size_t columns, std::size_t rows, bool braille)
    : columns_(columns),
      rows_(rows),
      braille_(braille),
      dots_(columns * rows),
      marks_(columns * rows) {}

std::size_t Canvas::column(double x) const { return cell(x, columns_); }
std::size_t Canvas::row_of(double y) const { return rows_ - 1 - cell(y, rows_); }

void Canvas::dot(std::int64_t x, std::int64_t y) {
  const auto across = static_cast<std::size_t>(x), down = static_cast<std::size_t>(y);
  dots_[down / dots_down * columns_ + across / dots_across] |=
      bit_of[down % dots_down][across % dots_across];
}

void Canvas::line(double x0, double y0, double x1, double y1) {
  const double wide = static_cast<double>(columns_ * dots_across - 1);
  const double high = static_cast<double>(rows_ * dots_down - 1);
  const double across = (x1 - x0) * wide, down = (y1 - y0) * high;
  const auto steps = static_cast<std::int64_t>(std::max({std::abs(across), std::abs(down), 1.0}));
  for (std::int64_t i = 0; i <= steps; ++i) {
    const double along = static_cast<double>(i) / static_cast<double>(steps);
    dot(std::lround(x0 * wide + along * across), std::lround((1 - y0) * high - along * down));
  }
}

void Canvas::mark(double x, double y, const std::string& character) {
  marks_[row_of(y) * columns_ + column(x)] = character;
}

std::string Canvas::row(std::size_t row) const {
  std::string text, blanks;
  for (std::size_t i = row * columns_; i < (row + 1) * columns_; ++i) {
    if (marks_[i].empty() && dots_[i] == 0) {
      blanks += ' ';
      continue;
    }
    text += std::exchange(blanks, "");
    text += !marks_[i].empty() ? marks_[i] : braille_ ? braille_character(dots_[i]) : ".";
  }
  return text;
}

}  // namespace sweetspot::report
