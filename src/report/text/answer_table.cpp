#include "report/text/answer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/text.h"
#include "report/fields.h"
#include "report/table.h"

namespace sweetspot::report {
namespace {

// What shows in the table of these rows.
std::vector<const advise::Figure*> columns_of(const advise::Recommendation& made) {
  std::vector<const advise::Figure*> columns;
  for (const advise::Figure& figure : advise::figures()) {
    const auto is_known = [&](const advise::BatchRow& row) {
      return figure.cell(row, made).words != unknown;
    };
    if (figure.cell && (figure.always || std::ranges::any_of(made.rows, is_known)))
      columns.push_back(&figure);
  }
  return columns;
}

AnswerLine line_of(const advise::BatchRow& row, const advise::Recommendation& made,
                   const std::vector<const advise::Figure*>& columns) {
  AnswerLine line;
  line.size = row.batch;
  line.batch = core::format_count(static_cast<double>(row.batch));
  line.chosen = row.batch == made.batch;
  line.cells.resize(columns.size());
  if (row.outcome != trial::Outcome::ok) {
    line.failure = name(row.outcome);
    std::ranges::replace(line.failure, '_', ' ');
    const std::string reason = core::printable(short_reason(row.note));
    // The advice follows and is given once. "Out of memory" is enough, except for the available
    // amount.
    if (reason.starts_with(line.failure))
      line.failure = reason;
    else if (!reason.empty() && row.outcome != trial::Outcome::out_of_memory)
      line.failure += ": " + reason;
    return line;
  }
  for (std::size_t i = 0; i < columns.size(); ++i) line.cells[i] = columns[i]->cell(row, made);
  return line;
}

// "0.0214 J 94%": the energy per sample, and the speed relative to the fastest of all. If energy
// was not requested, the speed.
std::string variant_cell(const advise::BatchRow& row, const advise::Recommendation& made) {
  if (row.outcome != trial::Outcome::ok) {
    std::string words(name(row.outcome));
    std::ranges::replace(words, '_', ' ');
    return words;
  }
  if (!row.samples_per_second) return std::string(unknown);
  if (made.objective != search::Objective::energy)
    return core::format_rounded(row.samples_per_second->mean);
  const double best = fastest(made).row->samples_per_second->mean;
  return fmt::format("{} {:.0f}%",
                     row.joules_per_sample ? core::format_joules(row.joules_per_sample->mean) : "–",
                     100 * row.samples_per_second->mean / best);
}

std::vector<AnswerLine> lines_by_variant(const advise::Recommendation& made) {
  std::map<std::int64_t, AnswerLine> lines;
  for (std::size_t i = 0; i < made.variants.size(); ++i)
    for (const advise::BatchRow& row : made.variants[i].rows) {
      const advise::Variant& variant = made.variants[i];
      AnswerLine& line = lines[row.batch];
      line.size = row.batch;
      line.batch = core::format_count(static_cast<double>(row.batch));
      line.cells.resize(made.variants.size(), {std::string(unknown)});
      const bool is_chosen = row.batch == made.batch &&
                             is_same_variant(variant.configuration, made.setting.configuration);
      line.cells[i] = {(is_chosen ? "▸ " : "") + variant_cell(row, made)};
    }
  std::vector<AnswerLine> list;
  for (auto& [batch, line] : lines) list.push_back(std::move(line));
  return list;
}

}  // namespace

AnswerTable answer_table(const advise::Recommendation& made) {
  AnswerTable table;
  table.batch_title = size_word(made);
  for (const advise::Variant& variant : made.variants)
    table.columns.push_back({name_of(variant, made), name_of(variant, made)});
  if (!made.variants.empty()) {
    table.lines = lines_by_variant(made);
    return table;
  }
  const std::vector<const advise::Figure*> columns = columns_of(made);
  const auto title = [&](const char* text) {
    return fmt::format(fmt::runtime(text), 100 * made.tolerance);
  };
  for (const advise::Figure* figure : columns)
    table.columns.push_back({title(figure->title), title(figure->short_title), figure->left});
  for (const advise::BatchRow& row : made.rows) table.lines.push_back(line_of(row, made, columns));
  return table;
}

}  // namespace sweetspot::report
