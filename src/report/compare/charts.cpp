#include "report/compare/charts.h"

#include <algorithm>

#include "report/charts/svg.h"
#include "report/compare/sentence.h"

namespace sweetspot::report::compare {
namespace {

constexpr double apart = 3;  // pixels to either side
constexpr int width = 560;   // two of them beside each other on a page

SvgChart by_batch() {
  SvgChart chart;
  chart.x.label = "batch (samples per weight update)", chart.x.logarithmic = true;
  chart.width = width;
  return chart;
}

SvgPoint point(std::int64_t batch, const trial::Interval& at) {
  return {static_cast<double>(batch), at.mean, at.low, at.high};
}

SvgSeries speeds(const Comparison& c, const std::string& name, Point Line::*side, double shift) {
  SvgSeries made;
  made.name = name, made.shift = shift;
  for (const Line& line : c.lines)
    if (const auto& speed = (line.*side).samples_per_second)
      made.points.push_back(point(line.batch, *speed));
  return made;
}

}  // namespace

std::string speed_chart(const Comparison& c) {
  SvgChart chart = by_batch();
  chart.id = "speeds";
  chart.title = "Throughput by batch size";
  chart.description = c.sentence;
  chart.y.label = "samples per second";
  chart.series = {speeds(c, "A, with 95% intervals", &Line::a, -apart),
                  speeds(c, "B", &Line::b, apart)};
  return svg(chart);
}

std::string ratio_chart(const Comparison& c) {
  SvgChart chart = by_batch();
  chart.id = "ratios";
  chart.title = "Speed of B over A by batch size";
  chart.description = batches_sentence(c);
  chart.y.label = "B/A";
  chart.rules = {{1, false, ""}};
  SvgSeries ratios;
  ratios.name = "with 95% intervals; dashed: equally fast", ratios.colour = 3;
  double least = 1, most = 1;
  for (const Line& line : c.lines)
    if (line.speed_ratio) {
      ratios.points.push_back(point(line.batch, *line.speed_ratio));
      least = std::min(least, line.speed_ratio->low);
      most = std::max(most, line.speed_ratio->high);
    }
  if (ratios.points.empty()) return "";
  // What is near 1 is seen only where the axis does not begin at 0.
  const double room = std::max(0.1 * (most - least), 0.01);
  chart.y.from = std::max(0.0, least - room), chart.y.to = most + room;
  chart.series = {ratios};
  return svg(chart);
}

}  // namespace sweetspot::report::compare
