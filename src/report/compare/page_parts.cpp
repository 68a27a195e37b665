#include "report/compare/page_parts.h"

#include <fmt/format.h>

#include "report/html/markup.h"
#include "report/html/page_assets.h"

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

}  // namespace sweetspot::report::compare
