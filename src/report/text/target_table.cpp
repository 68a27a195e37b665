#include "report/text/target_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/interval.h"
#include "core/text.h"
#include "report/table.h"
#include "report/text/screen.h"
#include "stats/moments.h"

namespace sweetspot::report {
namespace {

std::string number(double value) { return core::format_rounded(value); }

// "6.12 ±0.4"; for one seed without its half-width.
std::string measured_words(const core::Interval& cost, int seeds) {
  if (seeds < 2) return number(cost.mean);
  const int digits = cost.mean < 1 ? 3 : cost.mean < 10 ? 2 : cost.mean < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}", cost.mean, digits,
                     core::format_interval(cost.high - cost.mean, cost.mean - cost.low, digits));
}

// A stopped run shows how long it was trained for.
std::string given_up(const advise::TargetRow& row, const advise::TimeToTarget& made) {
  double least = 0;
  for (const advise::TargetRunTold& run : row.runs)
    least = std::max(least, made.for_energy && row.joules_per_sample
                                ? run.samples * row.joules_per_sample->mean
                                : run.seconds);
  return row.runs.empty() ? std::string(unknown) : "> " + number(least);
}

TargetLine line_of(const advise::TargetRow& row, const advise::TimeToTarget& made) {
  const auto predicted = made.for_energy ? predicted_joules(row) : row.predicted_seconds;
  const auto measured = made.for_energy ? measured_joules(row) : measured_seconds(row);
  const std::vector<double> samples = row.samples();
  TargetLine line;
  line.size = row.batch;
  line.batch = core::format_count(static_cast<double>(row.batch));
  line.learning_rate = made.learning_rate_rule.empty() ? std::string(unknown)
                                                       : fmt::format("{:.2g}", row.learning_rate);
  line.predicted = predicted ? number(predicted->mean) : std::string(unknown);
  line.measured = measured ? measured_words(*measured, row.reached()) : given_up(row, made);
  line.epochs = samples.empty() || !made.samples_in_epoch
                    ? std::string(unknown)
                    : number(stats::Moments(samples).mean() / *made.samples_in_epoch);
  line.reached = row.runs.empty() ? std::string(unknown)
                                  : fmt::format("{} of {}", row.reached(), row.runs.size());
  line.failure = core::printable(row.failure);
  line.chosen = made.batch == row.batch;
  return line;
}

// The most important: the trained ones, their neighbours, and the ends.
std::vector<TargetLine> kept_target_lines(const advise::TimeToTarget& made,
                                          std::vector<TargetLine> lines, std::size_t most) {
  const auto importance = [&](const TargetLine& line) {
    const advise::TargetRow& row = *made.row(line.size);
    if (line.chosen) return 0.0;
    if (!made.batch && made.best_batch == row.batch) return 0.0;  // the sentence names it
    if (!row.runs.empty()) return 1.0;
    if (!row.failure.empty()) return 2.0;
    if (made.throughput_batch == row.batch) return 3.0;
    return row.predicted_seconds ? 4 + row.predicted_seconds->mean : HUGE_VAL;
  };
  while (lines.size() > most) lines.erase(std::ranges::max_element(lines, {}, importance));
  return lines;
}

Lines footer_lines(const ScreenOptions& options) {
  if (options.trials.empty()) return {};
  return {"Every run: " + core::printable(options.trials)};
}

}  // namespace

TargetTable target_table(const advise::TimeToTarget& made) {
  TargetTable table{made.for_energy ? "J" : "s", {}};
  for (const advise::TargetRow& row : made.rows) table.lines.push_back(line_of(row, made));
  return table;
}

std::string target_screen(const advise::TimeToTarget& made, const ScreenOptions& options) {
  constexpr std::size_t most_lines = 20, most_rows = 10, few_rows = 4;
  const Lines head = wrapped(said(sentence(made), options), options.width);
  const Lines command = command_lines(core::printable(made.command), options.width);
  Lines reasons;
  for (const std::string& reason : reasons_in_words(made)) reasons.push_back(said(reason, options));
  Lines why = why_lines(reasons, options.width);
  const Lines foot = footer_lines(options);
  const TargetTable table = target_table(made);
  std::size_t rows = std::min(most_rows, table.lines.size());
  const std::size_t fixed = head.size() + command.size() + foot.size() + 2;
  while (rows > few_rows && fixed + rows + why.size() > most_lines) --rows;
  while (reasons.size() > 1 && fixed + rows + why.size() > most_lines)
    reasons.pop_back(), why = why_lines(reasons, options.width);
  std::vector<ScreenColumn> columns;
  Lines failed;
  const std::vector<TargetLine> kept = kept_target_lines(made, table.lines, rows);
  const auto add = [&](const std::string& title, const std::string& short_title, const auto& cell) {
    ScreenColumn& column = columns.emplace_back(ScreenColumn{title, short_title, false, {}});
    for (const TargetLine& line : kept) column.cells.push_back(said(cell(line), options));
  };
  add("batch", "batch", [](const TargetLine& l) { return (l.chosen ? "▸ " : "") + l.batch; });
  add("learning rate", "rate", [](const TargetLine& l) { return l.learning_rate; });
  add("predicted " + table.unit, "predicted", [](const TargetLine& l) { return l.predicted; });
  add("measured " + table.unit, "measured", [](const TargetLine& l) { return l.measured; });
  add("epochs", "epochs", [](const TargetLine& l) { return l.epochs; });
  add("reached", "reached", [](const TargetLine& l) { return l.reached; });
  for (const TargetLine& line : kept) failed.push_back(line.failure);
  return joined(head) + joined(command) + "\n" + joined(table_lines(columns, failed, options)) +
         joined(why) + joined(foot);
}

std::string target_markdown(const advise::TimeToTarget& made) {
  const TargetTable table = target_table(made);
  Table out({{"batch"},
             {"learning rate"},
             {"predicted " + table.unit},
             {"measured " + table.unit},
             {"epochs"},
             {"reached"},
             {"failure", true}});
  for (const TargetLine& line : table.lines)
    out.add({line.batch, line.learning_rate, line.predicted, line.measured, line.epochs,
             line.reached, line.failure});
  return out.text();
}

}  // namespace sweetspot::report
