#include "report/html/html.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/json_values.h"
#include "report/charts/headline.h"
#include "report/html/page_assets.h"
#include "report/html/page_data.h"
#include "report/markup.h"
#include "report/text/failures.h"

namespace sweetspot::report {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64_floats(std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<std::uint32_t>(bytes[i + j]) : 0);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? letters[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view icon =
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath "
    "d='M1 14C5 14 4 4 15 4' fill='none' stroke='%230072b2' stroke-width='2'/%3E%3Ccircle cx='8' "
    "cy='6' r='2.5' fill='%23d55e00'/%3E%3C/svg%3E";

std::string text(const Json& json) {
  return json.is_string() ? escaped_markup(json.get_ref<const std::string&>()) : "";
}

// JSON inside a <script> element ends at the first "</script": it must not contain "<".
std::string embedded(const Json& data) {
  const std::string json = core::json_text(data);
  std::string out;
  out.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t next = json.find('<', at);
    out.append(json, at, next - at);
    if (next == std::string::npos) break;
    out += "\\u003c";
    at = next + 1;
  }
  return out;
}

std::string started(const ShownStudy& study) {
  if (!(study.started_at > 0) || study.started_at > 1e11) return "";
  const auto when = fmt::gmtime(static_cast<std::time_t>(study.started_at));
  return fmt::format(R"(<time datetime="{0:%Y-%m-%dT%H:%M:%SZ}">{0:%Y-%m-%d %H:%M} UTC</time>)",
                     when);
}

std::string provenance(const ShownStudy& study) {
  std::string line;
  const auto add = [&](const std::string& words) {
    if (!words.empty()) line += (line.empty() ? "" : " · ") + words;
  };
  add(study.number.empty() ? "" : "study " + escaped_markup(shown(study.number)));
  add(started(study));
  add(escaped_markup(shown(study.machine)));
  add(escaped_markup(shown(study.program)));
  return line;
}

std::string items(const Json& reasons) {
  std::string list;
  for (const Json& reason : reasons) list += fmt::format("<li>{}</li>", text(reason["text"]));
  return list;
}

std::string figures_html(const Json& figures) {
  std::string list;
  for (const Json& figure : figures)
    list += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", text(figure["name"]),
                        text(figure["value"]));
  return list;
}

// The page's script refills this when the study continues; every part already has its place.
std::string answer_section(const Json& data) {
  const Json none = {{"reasons", Json::array()}, {"command", ""}};
  const Json& made = data["recommendation"].is_object() ? data["recommendation"] : none;
  const std::string sentence = text(data["sentence"]), message = text(data["message"]);
  const std::string command = text(made["command"]);
  const auto hidden = [](const std::string& words) { return words.empty() ? " hidden" : ""; };
  std::string status = text(data["status"]), words = status;
  std::ranges::replace(words, '_', ' ');
  std::string out = fmt::format(
      "<section id=\"answer\" aria-labelledby=\"sentence\">\n"
      "<span id=\"status\" data-status=\"{}\">{}</span>"
      "<span id=\"live\" role=\"status\" hidden></span>\n<h2 id=\"sentence\">{}</h2>\n",
      status, words, sentence.empty() ? "No recommendation yet" : sentence);
  out += fmt::format("<p id=\"message\"{}>{}</p>\n<dl id=\"figures\">{}</dl>\n", hidden(message),
                     message, figures_html(data["figures"]));
  return out + fmt::format(
                   "<ul id=\"reasons\">{}</ul>\n<div class=\"command\"><pre id=\"command\" "
                   "tabindex=\"0\"{}>{}</pre></div>\n</section>\n",
                   items(made["reasons"]), hidden(command), command);
}

std::string environment_html(const Json& environment) {
  std::string list;
  if (environment.is_object())
    for (const auto& [key, value] : environment.items())
      if (value.is_primitive() && !value.is_null())
        list += fmt::format("<dt>{}</dt><dd>{}</dd>", escaped_markup(key),
                            value.is_string() ? text(value) : escaped_markup(value.dump()));
  if (list.empty()) return "";
  return fmt::format(
      "<details id=\"environment\"><summary>Machine and program</summary><dl>{}</dl></details>\n",
      list);
}

std::string table_html(const PageTable& table) {
  std::string out =
      "<section aria-labelledby=\"trials-title\">\n<h2 id=\"trials-title\">Every trial</h2>\n"
      "<div id=\"trials-scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"trials-title\">\n"
      "<table id=\"trials\"><thead><tr>";
  const auto put = [&]<class... A>(fmt::format_string<A...> format, A&&... arguments) {
    fmt::format_to(std::back_inserter(out), format, std::forward<A>(arguments)...);
  };
  const auto left = [&](std::size_t column) {
    return table.columns[column].left ? " class=\"left\"" : "";
  };
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    put("<th scope=\"col\"{}>{}</th>", left(i), escaped_markup(table.columns[i].title));
  out += "</tr></thead><tbody>\n";
  for (const PageTable::Line& line : table.lines) {
    out += "<tr>";
    for (std::size_t i = 0; i < line.cells.size(); ++i)
      put("<td{}>{}</td>", left(i), escaped_markup(line.cells[i]));
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n</div>\n</section>\n";
}

std::string failures_html(const ShownStudy& study) {
  constexpr std::size_t most = 3, most_lines = 40;
  std::string out;
  for (const Failure& failure : failures(study, most, most_lines)) {
    std::string lines;
    for (const std::string& line : failure.lines) lines += escaped_markup(line) + "\n";
    out += fmt::format("<h3>{}</h3>\n<pre tabindex=\"0\">{}</pre>\n", escaped_markup(failure.title),
                       lines);
  }
  if (out.empty()) return "";
  return "<section id=\"failures\" aria-labelledby=\"failures-title\">\n"
         "<h2 id=\"failures-title\">What failed</h2>\n" +
         out + "</section>\n";
}

}  // namespace

std::string page_policy(bool live) {
  return fmt::format(
      "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; connect-src {}; "
      "base-uri 'none'; form-action 'none'",
      page_script_hash, page_style_hash, live ? "'self'" : "'none'");
}

std::string html(ShownStudy study, const std::optional<Live>& live) {
  if (live)
    for (trial::Trial& trial : study.trials) trial.raw = {};
  const std::string title = "Batch size of " + escaped_markup(shown(study.workload));
  Json data = page_data(study);
  for (trial::Trial& trial : study.trials) trial.raw = {}, trial.trace = {};  // cheap from here on
  if (live) {
    data["live"] = {{"events", live->events}, {"steps", live->steps}};
    if (!live->studies.empty()) data["live"]["studies"] = live->studies;
  }
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>{}</title>\n"
      "<link rel=\"icon\" href=\"{}\">\n<style>{}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#trials\">Skip to the trials</a>\n",
      page_policy(live.has_value()), title, icon, page_style);
  out += fmt::format("<header>\n<h1>{}</h1>\n<p id=\"provenance\">{}</p>\n</header>\n<main>\n",
                     title, provenance(study));
  out += answer_section(data);
  out += fmt::format(
      "<section id=\"charts\" aria-label=\"Charts\"><figure "
      "id=\"headline\">{}</figure></section>\n",
      headline_chart(study, series(study)));
  out += table_html(page_table(study));
  out += failures_html(study);
  out += environment_html(data["environment"]);
  out += "</main>\n<script type=\"application/json\" id=\"data\">";
  out += embedded(data);
  out += "</script>\n<script>";
  out += page_script;
  return out + "</script>\n</body>\n</html>\n";
}

}  // namespace sweetspot::report
