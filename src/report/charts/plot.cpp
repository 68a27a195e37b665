#include "report/charts/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/text.h"
#include "report/speeds.h"

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

namespace {

struct Point {
  std::int64_t batch = 0;
  double speed = 0;
};

// Rounds up to 1, 1.5, 2, 3, 4, 5 or 8 times a power of ten, so that the axis reads well.
double nice_top(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double step : {1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 8.0})
    if (value <= step * power) return step * power;
  return 10 * power;
}

// The batches under the axis, the chosen one first; overlapping ones are omitted.
std::string batch_labels(const std::vector<Point>& list, const std::vector<std::size_t>& columns,
                         std::int64_t chosen, std::size_t width) {
  std::string line(width, ' ');
  const auto place = [&](std::size_t i) {
    const std::string label = core::format_count(static_cast<double>(list[i].batch));
    if (label.size() > width) return;
    const std::size_t from =
        std::min(columns[i] - std::min(columns[i], label.size() / 2), width - label.size());
    const std::size_t left = from == 0 ? 0 : from - 1;
    const std::size_t right = std::min(from + label.size() + 1, width);
    if (line.substr(left, right - left).find_first_not_of(' ') != std::string::npos) return;
    line.replace(from, label.size(), label);
  };
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].batch == chosen) place(i);
  place(0);
  place(list.size() - 1);
  for (std::size_t i = 1; i + 1 < list.size(); ++i)
    if (list[i].batch != chosen) place(i);
  return line;
}

}  // namespace

std::string plot(const ShownStudy& study, const PlotOptions& options) {
  std::vector<Point> list;
  for (const FastestAtBatch& speed : speeds(study))
    list.push_back({speed.batch, speed.samples_per_second.mean});
  constexpr std::size_t least_width = 24, least_height = 5;
  if (list.size() < 2 || options.width < least_width || options.height < least_height) return "";
  double most = 0;
  for (const Point& point : list) most = std::max(most, point.speed);
  if (!(most > 0)) return "";
  const auto found = measured(study);
  const std::int64_t marked = found ? found->knee_batch : 0;  // which no batch is
  const double top = nice_top(most);
  const std::string top_label = core::format_count(top), middle_label = core::format_count(top / 2);
  const std::size_t margin = std::max(top_label.size(), middle_label.size());
  // An odd number, so that the middle row is exactly half.
  const std::size_t rows = (options.height - 3) | 1, columns = options.width - margin - 2;

  const double first = std::log(static_cast<double>(list.front().batch));
  const double last = std::log(static_cast<double>(list.back().batch));
  const auto across = [&](const Point& p) {
    return (std::log(static_cast<double>(p.batch)) - first) / (last - first);
  };
  Canvas canvas(columns, rows, options.utf8);
  for (std::size_t i = 0; i + 1 < list.size(); ++i)
    canvas.line(across(list[i]), list[i].speed / top, across(list[i + 1]), list[i + 1].speed / top);
  std::vector<std::size_t> at;
  for (const Point& point : list) {
    const bool chosen = point.batch == marked;
    canvas.mark(across(point), point.speed / top,
                options.utf8 ? (chosen ? "◆" : "•") : (chosen ? "#" : "o"));
    at.push_back(canvas.column(across(point)));
  }

  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::string label = row == 0          ? top_label
                              : row == rows / 2 ? middle_label
                              : row == rows - 1 ? "0"
                                                : "";
    text += fmt::format("{:>{}} {}{}\n", label, margin, options.utf8 ? "│" : "|", canvas.row(row));
  }
  std::string rule;
  for (std::size_t i = 0; i < columns; ++i) rule += options.utf8 ? "─" : "-";
  text += fmt::format("{:>{}} {}{}\n", "", margin, options.utf8 ? "└" : "+", rule);
  std::string labels = batch_labels(list, at, marked, columns);
  labels.erase(labels.find_last_not_of(' ') + 1);
  return text + fmt::format("{:>{}}  {}\n", "", margin, labels);
}

}  // namespace sweetspot::report
