#include "report/compare/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "report/charts/svg.h"
#include "report/compare/compare.h"
#include "report/compare/formats.h"
#include "report/html/page_assets.h"
#include "report/markup.h"

namespace sweetspot::report::compare {

std::string escaped(const std::string& text) { return escaped_markup(shown(text)); }

std::string numbered(const std::string& text) { return escaped(with_thin_spaces(text)); }

std::string page(const std::string& title, const std::vector<std::string>& studies,
                 const std::string& body) {
  std::string names;
  for (std::size_t i = 0; i < studies.size(); ++i)
    names += fmt::format("{}{}: {}", i == 0 ? "" : "<br>", letter(i), escaped(studies[i]));
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{0}'; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{2}</title>\n<style>{1}</style>\n</head>\n<body>\n"
      "<header>\n<h1>{2}</h1>\n<p id=\"provenance\">{3}</p>\n"
      "</header>\n<main>\n{4}</main>\n</body>\n</html>\n",
      page_style_hash, page_style, escaped(title), names, body);
}

std::string figure(const std::string& id, const std::string& drawing) {
  if (drawing.empty()) return "";
  return fmt::format(
      "<figure class=\"drawing\" tabindex=\"0\" role=\"region\" "
      "aria-labelledby=\"{}-title\">{}</figure>\n",
      id, drawing);
}

std::string fact(const std::string& name, const std::string& value) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", numbered(name), numbered(value));
}

std::string table_html(const std::string& title, const std::string& id, const Cells& cells,
                       std::string (*words)(const std::string&)) {
  std::string out = fmt::format(
      "<section>\n<h2 id=\"{0}\">{1}</h2>\n"
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
      "aria-labelledby=\"{0}\">\n"
      "<table><thead><tr>",
      id, title);
  const auto left = [&](std::size_t column) {
    return cells.columns[column].left ? " class=\"left\"" : "";
  };
  for (std::size_t i = 0; i < cells.columns.size(); ++i)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", left(i), escaped(cells.columns[i].title));
  out += "</tr></thead><tbody>\n";
  for (const std::vector<std::string>& row : cells.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out += fmt::format("<td{}>{}</td>", left(i), words(row[i]));
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n</div>\n</section>\n";
}

std::string letter(std::size_t place) { return std::string(1, static_cast<char>('A' + place)); }

namespace {

constexpr double apart = 3;  // pixels to either side
constexpr int width = 560;   // two of them next to each other on a page

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
  // Values near 1 are visible only if the axis does not begin at 0.
  const double room = std::max(0.1 * (most - least), 0.01);
  chart.y.from = std::max(0.0, least - room), chart.y.to = most + room;
  chart.series = {ratios};
  return svg(chart);
}

namespace {

std::string facts(const Comparison& c) {
  std::string list;
  if (c.best_ratio)
    list +=
        fact("Speed of B over A", fmt::format("{:.3g}", c.best_ratio->mean)) +
        fact("95% interval", fmt::format("{:.3g}–{:.3g}", c.best_ratio->low, c.best_ratio->high));
  const auto side = [&](const std::string& name, const std::optional<Measured>& found) {
    if (found)
      list += fact(fmt::format("{} at batch {}, samples/s", name,
                               core::format_count(static_cast<double>(found->best_batch))),
                   core::format_count(found->best_samples_per_second));
  };
  side("A", c.a), side("B", c.b);
  return list;
}

std::string answer(const Comparison& c) {
  std::string out = fmt::format(
      "<section id=\"answer\" aria-labelledby=\"sentence\">\n<h2 id=\"sentence\">{}</h2>\n"
      "<dl id=\"figures\">{}</dl>\n<ul id=\"reasons\">",
      numbered(verdict_words(c)), facts(c));
  for (const std::string& point :
       {batches_sentence(c), knee_words("A", c.a), knee_words("B", c.b), caveat(c)})
    if (!point.empty()) out += fmt::format("<li>{}</li>", numbered(point));
  return out + "</ul>\n</section>\n";
}

}  // namespace

std::string html(const Comparison& c) {
  std::string body = answer(c);
  if (!c.lines.empty()) {
    body += "<section id=\"charts\" aria-label=\"Charts\">\n" + figure("speeds", speed_chart(c)) +
            figure("ratios", ratio_chart(c)) + "</section>\n";
    body += table_html("By batch", "batches", batch_cells(c), numbered);
  }
  if (!c.differences.empty())
    body += table_html("What differs", "differences", difference_cells(c), escaped);
  return page("Two studies compared", {c.a_name, c.b_name}, body);
}

}  // namespace sweetspot::report::compare
