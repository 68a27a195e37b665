#include <fmt/format.h>

#include "core/text.h"
#include "report/compare/forms.h"
#include "report/compare/tables.h"
#include "report/markup.h"
#include "report/page_assets.h"
#include "report/svg.h"

namespace sweetspot::report::compare {
namespace {

std::string escaped(const std::string& text) { return escaped_markup(shown(text)); }

SvgSeries series(const Comparison& c, const std::string& name, Point Line::*side) {
  SvgSeries made;
  made.name = name;
  for (const Line& line : c.lines)
    if (const auto& speed = (line.*side).samples_per_second)
      made.points.push_back(
          {static_cast<double>(line.batch), speed->mean, speed->low, speed->high});
  return made;
}

std::string chart(const Comparison& c) {
  SvgChart chart;
  chart.id = "speeds";
  chart.title = "Throughput by batch size";
  chart.description = c.sentence;
  chart.x.label = "batch (samples per weight update)", chart.x.logarithmic = true;
  chart.y.label = "samples per second";
  chart.series = {series(c, "A", &Line::a), series(c, "B", &Line::b)};
  return svg(chart);
}

std::string table_html(const std::string& title, const std::string& id, const Cells& cells) {
  std::string out = fmt::format(
      "<section aria-labelledby=\"{0}\">\n<h2 id=\"{0}\">{1}</h2>\n"
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
      out += fmt::format("<td{}>{}</td>", left(i), escaped(row[i]));
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n</div>\n</section>\n";
}

}  // namespace

std::string html(const Comparison& c) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
      "'none'; style-src '{}'; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n"
      "<title>Two studies "
      "compared</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<header>\n<h1>Two studies compared</h1>\n<p>A: {}<br>B: "
      "{}</p>\n</header>\n<main>\n",
      page_style_hash, page_style, escaped(c.a_name), escaped(c.b_name));
  out += fmt::format(
      "<section aria-labelledby=\"sentence\">\n<h2 "
      "id=\"sentence\">{}</h2>\n<ul>",
      escaped(c.sentence));
  for (const std::string& point : {knee_words("A", c.a), knee_words("B", c.b), caveat(c)})
    if (!point.empty()) out += fmt::format("<li>{}</li>", escaped(point));
  out += "</ul>\n</section>\n";
  if (!c.lines.empty()) {
    out += fmt::format("<section><figure>{}</figure></section>\n", chart(c));
    out += table_html("By batch", "batches", batch_cells(c));
  }
  if (!c.differences.empty()) out += table_html("What differs", "differences", difference_cells(c));
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace sweetspot::report::compare
