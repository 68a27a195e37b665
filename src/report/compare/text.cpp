#include "core/text.h"

#include <fmt/format.h>

#include "report/compare/forms.h"
#include "report/compare/tables.h"

namespace sweetspot::report::compare {
namespace {

std::string knees(const Comparison& c, const std::string& before) {
  return before + knee_words("A", c.a) + "\n" + before + knee_words("B", c.b) + "\n";
}

}  // namespace

std::string text(const Comparison& c) {
  std::string out =
      fmt::format("A  {}\nB  {}\n\n", core::printable(c.a_name), core::printable(c.b_name));
  if (!c.lines.empty()) out += table(batch_cells(c)) + "\n";
  out += knees(c, "") + "\n";
  if (!c.differences.empty()) out += table(difference_cells(c)) + "\n";
  const std::string warning = caveat(c);
  return out + c.sentence + "\n" + (warning.empty() ? "" : warning + "\n");
}

std::string markdown(const Comparison& c) {
  std::string out = fmt::format("# Comparison of {} (A) and {} (B)\n\n{}\n",
                                core::printable(c.a_name), core::printable(c.b_name), c.sentence);
  const std::string warning = caveat(c);
  if (!warning.empty()) out += "\n" + warning + "\n";
  if (!c.lines.empty()) out += "\n" + table(batch_cells(c));
  out += "\n" + knees(c, "- ");
  if (!c.differences.empty()) out += "\n" + table(difference_cells(c));
  return out;
}

}  // namespace sweetspot::report::compare
