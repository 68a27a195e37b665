#include <fmt/format.h>

#include "core/text.h"
#include "report/compare/charts.h"
#include "report/compare/forms.h"
#include "report/compare/page_parts.h"
#include "report/compare/sentence.h"
#include "report/compare/tables.h"

namespace sweetspot::report::compare {
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
