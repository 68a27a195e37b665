#include "report/html/page_table.h"

#include "report/html/markup.h"

namespace sweetspot::report {
namespace {

constexpr std::size_t longest_cell = 240;  // the whole is a click away

}  // namespace

PageTable page_table(const Answer& answer) {
  const std::vector<Row> list = rows(answer);
  std::vector<const Field*> shown_fields;
  PageTable table;
  for (const Field& field : fields())
    if (is_shown(field, list)) {
      shown_fields.push_back(&field);
      table.columns.push_back({field.title, field.left});
    }
  for (const Row& row : list) {
    PageTable::Line line;
    line.trial = static_cast<std::size_t>(row.trial - answer.trials.data());
    for (const Field* field : shown_fields) {
      const std::string words = shown(field->words(row), longest_cell);
      line.cells.push_back(field->left ? words : with_thin_spaces(words));
      Value key = field->value(row);
      if (field->left) key = words;  // as it reads
      line.keys.push_back(std::move(key));
    }
    table.lines.push_back(std::move(line));
  }
  return table;
}

}  // namespace sweetspot::report
