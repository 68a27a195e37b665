#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "core/utf8.h"
#include "report/answer_table.h"
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

// Notes of others may be of any length; CSV and JSON have all of them.
std::string clipped(const std::string& text) {
  constexpr std::size_t most_columns = 60;
  std::size_t at = 0;
  for (std::size_t columns = 0; at < text.size() && columns < most_columns; ++columns)
    at += std::max<std::size_t>(1, core::printable_bytes(std::string_view(text).substr(at)));
  return at == text.size() ? text : text.substr(0, at) + "…";
}

std::string rows_table(const advise::Recommendation& made) {
  const AnswerTable found = answer_table(made);
  Table out({{found.batch_title},
             {"samples/s"},
             {"of the best"},
             {found.within_title},
             {"memory"},
             {"limited by", true}});
  for (const AnswerLine& line : found.lines) {
    const std::string share = line.reach.empty() ? line.share : line.share + " " + line.reach;
    out.add({line.batch, line.samples_per_second, share, line.within, line.memory,
             line.failure.empty() ? line.limited_by : line.failure});
  }
  return out.text();
}

}  // namespace

std::string trials_table(const Answer& answer) {
  const std::vector<Row> list = rows(answer);
  std::vector<Column> columns;
  for (const Field& field : fields())
    if (is_shown(field, list)) columns.push_back({field.title, field.left});
  Table out(std::move(columns));
  for (const Row& row : list) {
    std::vector<std::string> cells;
    for (const Field& field : fields())
      if (is_shown(field, list)) cells.push_back(escaped(clipped(field.words(row))));
    out.add(std::move(cells));
  }
  return out.text();
}

std::string table(const Answer& answer) {
  return answer.recommendation ? rows_table(*answer.recommendation) : trials_table(answer);
}

std::string markdown(const Answer& answer) {
  std::string text = fmt::format("# Batch size of {}\n\n", core::printable(answer.workload));
  if (const std::string words = sentence(answer); !words.empty()) text += words + "\n\n";
  if (!answer.message.empty()) text += answer.message + "\n\n";
  text += table(answer);
  if (!answer.recommendation) return text;
  text += "\n";
  const advise::Recommendation& made = *answer.recommendation;
  for (const std::string& reason : reasons_in_words(made)) text += "- " + reason + "\n";
  if (!made.command.empty())
    text += fmt::format("\n```sh\n{}\n```\n", core::printable(made.command));
  return text;
}

}  // namespace sweetspot::report
