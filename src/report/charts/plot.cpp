#include "report/charts/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "report/charts/canvas.h"
#include "report/charts/speeds.h"

namespace sweetspot::report {
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

// The batches under the axis, the chosen one first; those that would touch another are left out.
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

std::string plot(const Answer& answer, const PlotOptions& options) {
  std::vector<Point> list;
  for (const BatchSpeed& speed : speeds(answer))
    list.push_back({speed.batch, speed.samples_per_second.mean});
  constexpr std::size_t least_width = 24, least_height = 5;
  if (list.size() < 2 || options.width < least_width || options.height < least_height) return "";
  double most = 0;
  for (const Point& point : list) most = std::max(most, point.speed);
  if (!(most > 0)) return "";
  const auto found = measured(answer);
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
