#include <fmt/format.h>

#include "core/text.h"
#include "report/fields.h"
#include "report/forms.h"
#include "report/glance.h"
#include "report/table.h"

namespace sweetspot::report {
namespace {

// A bar in a note would be taken for the end of its cell.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

}  // namespace

std::string table(const Answer& answer) {
  const std::vector<Row> list = rows(answer);
  std::vector<Column> columns;
  for (const Field& field : fields())
    if (is_shown(field, list)) columns.push_back({field.title, field.left});
  Table out(std::move(columns));
  for (const Row& row : list) {
    std::vector<std::string> cells;
    for (const Field& field : fields())
      if (is_shown(field, list)) cells.push_back(escaped(field.words(row)));
    out.add(std::move(cells));
  }
  return out.text();
}

std::string markdown(const Answer& answer) {
  std::string text = fmt::format("# Batch size of {}\n\n", core::printable(answer.workload));
  if (const std::string words = sentence(answer); !words.empty()) text += words + "\n\n";
  if (!answer.message.empty()) text += answer.message + "\n\n";
  text += table(answer);
  if (!answer.recommendation) return text;
  text += "\n";
  for (const std::string& reason : answer.recommendation->reasons) text += "- " + reason + "\n";
  if (!answer.command.empty()) text += fmt::format("\n```sh\n{}\n```\n", answer.command);
  return text;
}

}  // namespace sweetspot::report
