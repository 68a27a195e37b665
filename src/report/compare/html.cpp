#include <fmt/format.h>

#include "core/text.h"
#include "report/compare/charts.h"
#include "report/compare/forms.h"
#include "report/compare/sentence.h"
#include "report/compare/tables.h"
#include "report/html/markup.h"
#include "report/html/page_assets.h"

namespace sweetspot::report::compare {
namespace {

std::string escaped(const std::string& text) { return escaped_markup(shown(text)); }

// Of our own words: numbers as on the other pages.
std::string numbered(const std::string& text) { return escaped(with_thin_spaces(text)); }

// Scrolled where it is too wide, also by keyboard.
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

}  // namespace

std::string html(const Comparison& c) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>Two studies compared</title>\n<style>{}</style>\n</head>\n<body>\n"
      "<header>\n<h1>Two studies compared</h1>\n<p id=\"provenance\">A: {}<br>B: {}</p>\n"
      "</header>\n<main>\n",
      page_style_hash, page_style, escaped(c.a_name), escaped(c.b_name));
  out += answer(c);
  if (!c.lines.empty()) {
    out += "<section id=\"charts\" aria-label=\"Charts\">\n" + figure("speeds", speed_chart(c)) +
           figure("ratios", ratio_chart(c)) + "</section>\n";
    out += table_html("By batch", "batches", batch_cells(c), numbered);
  }
  if (!c.differences.empty())
    out += table_html("What differs", "differences", difference_cells(c), escaped);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace sweetspot::report::compare
