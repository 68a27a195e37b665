#include "report/text/answer_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/text.h"
#include "report/fields.h"
#include "report/table.h"

namespace sweetspot::report {
namespace {

std::string within_words(double probability) {
  constexpr double certain = 0.99;
  if (probability < 1 - certain) return "no";
  return probability > certain ? "yes" : fmt::format("{:.0f}%", 100 * probability);
}

// In whole percents, like the share itself; empty below half of one.
std::string reach_words(const core::Interval& share) {
  const double reach = 100 * std::max(share.high - share.mean, share.mean - share.low);
  return std::round(reach) >= 1 ? fmt::format("±{:.0f}", reach) : "";
}

AnswerLine line_of(const advise::BatchRow& row, const advise::Recommendation& made) {
  AnswerLine line;
  line.size = row.batch;
  line.batch = core::format_count(static_cast<double>(row.batch));
  line.chosen = row.batch == made.batch;
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
  const std::string dash(unknown);
  line.samples_per_second =
      row.samples_per_second ? core::format_rounded(row.samples_per_second->mean) : dash;
  line.share = row.share ? fmt::format("{:.0f}%", 100 * row.share->mean) : dash;
  if (row.share && row.batch != made.best_batch) line.reach = reach_words(*row.share);
  if (row.batch != made.best_batch)
    line.within = row.within_tolerance ? within_words(*row.within_tolerance) : dash;
  line.memory = row.memory ? core::format_bytes(*row.memory) : dash;
  line.energy = row.joules_per_sample ? core::format_joules(row.joules_per_sample->mean) : dash;
  line.limited_by = row.limited_by ? std::string(words(*row.limited_by)) : dash;
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
      line.by_variant.resize(made.variants.size(), std::string(unknown));
      const bool is_chosen =
          row.batch == made.batch && variant.precision == made.setting.configuration.precision &&
          variant.power_limit_watts == made.setting.configuration.power_limit_watts;
      line.by_variant[i] = (is_chosen ? "▸ " : "") + variant_cell(row, made);
    }
  std::vector<AnswerLine> list;
  for (auto& [batch, line] : lines) list.push_back(std::move(line));
  return list;
}

}  // namespace

AnswerTable answer_table(const advise::Recommendation& made) {
  AnswerTable table;
  table.batch_title = size_word(made);
  table.within_title = fmt::format("within {:g}%?", 100 * made.tolerance);
  for (const advise::Variant& variant : made.variants)
    table.variant_titles.push_back(name_of(variant, made));
  if (!made.variants.empty()) {
    table.lines = lines_by_variant(made);
    return table;
  }
  for (const advise::BatchRow& row : made.rows) {
    table.lines.push_back(line_of(row, made));
    table.has_energy = table.has_energy || row.joules_per_sample;
  }
  return table;
}

}  // namespace sweetspot::report
