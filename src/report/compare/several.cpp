#include "report/compare/several.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "report/charts/svg.h"
#include "report/compare/compare.h"
#include "report/compare/formats.h"
#include "report/compare/html.h"

namespace sweetspot::report::compare {
namespace {

// Every batch of any study, with its line in each comparison; null if neither side measured it.
std::map<std::int64_t, std::vector<const Line*>> by_batch(const Several& several) {
  std::map<std::int64_t, std::vector<const Line*>> lines;
  for (std::size_t i = 0; i < several.to_first.size(); ++i)
    for (const Line& line : several.to_first[i].lines) {
      auto& places = lines[line.batch];
      places.resize(several.to_first.size(), nullptr);
      places[i] = &line;
    }
  return lines;
}

// A is in every comparison: its point is the same in each that has the batch.
Point first_point(const std::vector<const Line*>& lines) {
  const auto found = std::ranges::find_if(
      lines, [](const Line* line) { return line && line->a.samples_per_second; });
  return found == lines.end() ? Point{} : (*found)->a;
}

// "C is faster than A: 1.52 times its speed (95% interval 1.48 to 1.57), 45,120 samples/s at batch
// 512."
std::string verdict_sentence(const Comparison& c, const std::string& who) {
  if (!c.a || !c.b)
    return fmt::format("Nothing was measured in {}, so it cannot be compared with {}.",
                       c.a ? who : "A", c.a ? "A" : who);
  if (!c.verdict || !c.best_ratio)
    return fmt::format("{} is measured too uncertainly to be compared with A.", who);
  const std::string verdict = *c.verdict == Verdict::no_difference
                                  ? fmt::format("No difference between {} and A is shown", who)
                                  : fmt::format("{} is {} than A", who, words(*c.verdict));
  return fmt::format(
      "{}: {:.3g} times its speed (95% interval {:.3g} to {:.3g}), {} samples/s at batch {}.",
      verdict, c.best_ratio->mean, c.best_ratio->low, c.best_ratio->high,
      core::format_count(c.b->best_samples_per_second),
      core::format_count(static_cast<double>(c.b->best_batch)));
}

std::vector<std::string> sentences(const Several& several) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < several.to_first.size(); ++i)
    all.push_back(verdict_sentence(several.to_first[i], letter(i + 1)));
  return all;
}

std::vector<std::string> knees(const Several& several) {
  std::vector<std::string> all{knee_words("A", several.to_first.front().a)};
  for (std::size_t i = 0; i < several.to_first.size(); ++i)
    all.push_back(knee_words(letter(i + 1), several.to_first[i].b));
  return all;
}

std::string warning(const Several& several) {
  for (const Comparison& c : several.to_first)
    if (const std::string words = caveat(c); !words.empty()) return words;
  return "";
}

Cells batch_cells(const Several& several) {
  Cells cells;
  cells.columns = {{"batch"}, {"A samples/s"}};
  for (std::size_t i = 0; i < several.to_first.size(); ++i) {
    cells.columns.push_back({letter(i + 1) + " samples/s"});
    cells.columns.push_back({letter(i + 1) + "/A (95%)"});
  }
  for (const auto& [batch, lines] : by_batch(several)) {
    std::vector<std::string> row{core::format_count(static_cast<double>(batch)),
                                 speed_words(first_point(lines))};
    for (const Line* line : lines) {
      row.push_back(speed_words(line ? line->b : Point{}));
      row.push_back(line && line->speed_ratio ? ratio_words(*line->speed_ratio)
                                              : std::string(unknown));
    }
    cells.rows.push_back(std::move(row));
  }
  return cells;
}

// What differs between any of them, with the value of each.
Cells difference_cells(const Several& several) {
  std::map<std::string, std::vector<std::string>> found;
  for (std::size_t i = 0; i < several.to_first.size(); ++i)
    for (const Difference& each : several.to_first[i].differences) {
      auto& values = found[each.what];
      values.resize(several.names.size(), each.a);  // a missing value equals A's
      values[i + 1] = each.b;
    }
  Cells cells;
  cells.columns = {{"what differs", true}};
  for (std::size_t i = 0; i < several.names.size(); ++i) cells.columns.push_back({letter(i), true});
  for (const auto& [what, values] : found) {
    std::vector<std::string> row{short_cell(what)};
    for (const std::string& value : values) row.push_back(short_cell(value));
    cells.rows.push_back(std::move(row));
  }
  return cells;
}

std::string chart(const Several& several) {
  SvgChart made;
  made.id = "speeds";
  made.title = "Throughput by batch size";
  for (const std::string& sentence : sentences(several))
    made.description += (made.description.empty() ? "" : " ") + sentence;
  made.x.label = "batch (samples per weight update)", made.x.logarithmic = true;
  made.y.label = "samples per second";
  made.series.resize(several.names.size());
  for (std::size_t i = 0; i < several.names.size(); ++i)
    made.series[i].name = i == 0 ? "A, with 95% intervals" : letter(i);
  const auto add = [&](std::size_t place, std::int64_t batch, const Point& point) {
    if (const auto& speed = point.samples_per_second)
      made.series[place].points.push_back(
          {static_cast<double>(batch), speed->mean, speed->low, speed->high});
  };
  for (const auto& [batch, lines] : by_batch(several)) {
    add(0, batch, first_point(lines));
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (lines[i]) add(i + 1, batch, lines[i]->b);
  }
  return svg(made);
}

std::string listed(const std::vector<std::string>& lines, const std::string& before) {
  std::string text;
  for (const std::string& line : lines) text += before + line + "\n";
  return text;
}

}  // namespace

Several compare(const std::vector<Side>& sides) {
  Several several;
  for (const Side& side : sides) several.names.push_back(side.name);
  for (std::size_t i = 1; i < sides.size(); ++i)
    several.to_first.push_back(compare(sides.front(), sides[i]));
  return several;
}

std::string text(const Several& several) {
  std::string out;
  for (std::size_t i = 0; i < several.names.size(); ++i)
    out += fmt::format("{}  {}\n", letter(i), core::printable(several.names[i]));
  const Cells batches = batch_cells(several), differences = difference_cells(several);
  if (!batches.rows.empty()) out += "\n" + table(batches);
  out += "\n" + listed(knees(several), "");
  if (!differences.rows.empty()) out += "\n" + table(differences);
  out += "\n" + listed(sentences(several), "");
  const std::string words = warning(several);
  return out + (words.empty() ? "" : words + "\n");
}

std::string markdown(const Several& several) {
  std::string out = fmt::format("# Comparison of {} studies\n\n", several.names.size());
  for (std::size_t i = 0; i < several.names.size(); ++i)
    out += fmt::format("- {}: {}\n", letter(i), core::printable(several.names[i]));
  out += "\n" + listed(sentences(several), "- ");
  if (const std::string words = warning(several); !words.empty()) out += "\n" + words + "\n";
  const Cells batches = batch_cells(several), differences = difference_cells(several);
  if (!batches.rows.empty()) out += "\n" + table(batches);
  out += "\n" + listed(knees(several), "- ");
  if (!differences.rows.empty()) out += "\n" + table(differences);
  return out;
}

nlohmann::ordered_json json(const Several& several) {
  nlohmann::ordered_json result{{"schema_version", schema_version}, {"studies", several.names}};
  result["to_first"] = nlohmann::ordered_json::array();
  for (const Comparison& c : several.to_first) result["to_first"].push_back(json(c));
  return result;
}

std::string html(const Several& several) {
  const std::vector<std::string> verdicts = sentences(several);
  std::string body = fmt::format(
      "<section id=\"answer\" aria-labelledby=\"sentence\">\n<h2 id=\"sentence\">{}</h2>\n<ul "
      "id=\"reasons\">",
      numbered(verdicts.front()));
  const auto add = [&](const std::string& point) {
    if (!point.empty()) body += fmt::format("<li>{}</li>", numbered(point));
  };
  for (std::size_t i = 1; i < verdicts.size(); ++i) add(verdicts[i]);
  for (const std::string& knee : knees(several)) add(knee);
  add(warning(several));
  body += "</ul>\n</section>\n";
  const Cells batches = batch_cells(several), differences = difference_cells(several);
  if (!batches.rows.empty()) {
    body += "<section id=\"charts\" aria-label=\"Charts\">\n" + figure("speeds", chart(several)) +
            "</section>\n";
    body += table_html("By batch", "batches", batches, numbered);
  }
  if (!differences.rows.empty())
    body += table_html("What differs", "differences", differences, escaped);
  return page(fmt::format("{} studies compared", several.names.size()), several.names, body);
}

}  // namespace sweetspot::report::compare
