#include "report/compare/formats.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/interval.h"
#include "core/json_values.h"
#include "core/text.h"
#include "report/compare/compare.h"

namespace sweetspot::report::compare {
namespace {

// Commands and environments may be long; the ends are in the JSON.
constexpr std::size_t longest_difference = 60;

std::string dash() { return std::string(unknown); }

std::string memory(const Point& point) {
  return point.memory ? core::format_bytes(*point.memory) : dash();
}

}  // namespace

std::string short_cell(const std::string& value) {
  if (value.empty()) return dash();
  const std::string text = core::printable(value);
  std::size_t end = std::min(text.size(), longest_difference);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;  // whole letters
  return end == text.size() ? text : text.substr(0, end) + "…";
}

std::string speed_words(const Point& point) {
  if (!point.samples_per_second) return dash();
  const trial::Interval& found = *point.samples_per_second;
  return core::format_count(found.mean) + " " +
         core::format_interval_percent(found.mean, found.low, found.high);
}

Cells batch_cells(const Comparison& c) {
  Cells cells;
  cells.columns = {{"batch"},    {"A samples/s"}, {"B samples/s"}, {"B/A (95%)"},
                   {"A memory"}, {"B memory"},    {"B/A memory"},  {"B is", true}};
  for (const Line& line : c.lines)
    cells.rows.push_back({core::format_count(static_cast<double>(line.batch)), speed_words(line.a),
                          speed_words(line.b),
                          line.speed_ratio ? ratio_words(*line.speed_ratio) : dash(),
                          memory(line.a), memory(line.b),
                          line.memory_ratio ? fmt::format("{:.3g}", *line.memory_ratio) : dash(),
                          line.verdict ? std::string(words(*line.verdict)) : dash()});
  return cells;
}

Cells difference_cells(const Comparison& c) {
  Cells cells;
  cells.columns = {{"what differs", true}, {"A", true}, {"B", true}};
  for (const Difference& each : c.differences)
    cells.rows.push_back({short_cell(each.what), short_cell(each.a), short_cell(each.b)});
  return cells;
}

std::string table(const Cells& cells) {
  Table made(cells.columns);
  for (std::vector<std::string> row : cells.rows) {
    for (std::string& cell : row)  // a bar would end it
      for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2)
        cell.insert(at, 1, '\\');
    made.add(std::move(row));
  }
  return made.text();
}

std::string knee_words(const std::string& side, const std::optional<Measured>& found) {
  if (!found) return fmt::format("{}: nothing was measured", side);
  std::string text = fmt::format("{}: fastest at batch {} with {} samples/s", side,
                                 core::format_count(static_cast<double>(found->best_batch)),
                                 core::format_count(found->best_samples_per_second));
  if (found->knee_batch != found->best_batch)
    text += fmt::format("; knee at batch {} with {} samples/s",
                        core::format_count(static_cast<double>(found->knee_batch)),
                        core::format_count(found->knee_samples_per_second));
  return text;
}

std::string caveat(const Comparison& c) {
  if (c.repeated) return "";
  return "Not every study measured a batch twice, so the intervals do not include the "
         "variation between runs; --repeat 3 measures it.";
}

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

namespace {

using Json = nlohmann::ordered_json;

Json verdict_json(const std::optional<Verdict>& verdict) {
  return verdict ? Json(name(*verdict)) : Json(nullptr);
}

Json point_json(const Point& point) {
  return {{"samples_per_second", point.samples_per_second},
          {"memory_bytes", point.memory},
          {"trials", point.trials}};
}

Json side_json(const std::string& name, const std::optional<Measured>& found) {
  Json side{{"name", name}};
  side["best_batch"] = found ? Json(found->best_batch) : Json(nullptr);
  side["best_samples_per_second"] = found ? Json(found->best_samples_per_second) : Json(nullptr);
  side["knee_batch"] = found ? Json(found->knee_batch) : Json(nullptr);
  side["knee_samples_per_second"] = found ? Json(found->knee_samples_per_second) : Json(nullptr);
  return side;
}

}  // namespace

Json json(const Comparison& c) {
  Json result{{"schema_version", schema_version},
              {"a", side_json(c.a_name, c.a)},
              {"b", side_json(c.b_name, c.b)},
              {"verdict", verdict_json(c.verdict)},
              {"sentence", c.sentence},
              {"best_samples_per_second_ratio", c.best_ratio},
              {"repeated", c.repeated}};
  result["batches"] = Json::array();
  for (const Line& line : c.lines)
    result["batches"].push_back({{"batch", line.batch},
                                 {"a", point_json(line.a)},
                                 {"b", point_json(line.b)},
                                 {"samples_per_second_ratio", line.speed_ratio},
                                 {"memory_ratio", line.memory_ratio},
                                 {"verdict", verdict_json(line.verdict)}});
  result["differences"] = Json::array();
  for (const Difference& each : c.differences)
    result["differences"].push_back({{"what", each.what}, {"a", each.a}, {"b", each.b}});
  return result;
}

}  // namespace sweetspot::report::compare
