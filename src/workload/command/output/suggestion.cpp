#include "workload/command/output/suggestion.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "core/text.h"
#include "workload/command/output/cursor.h"
#include "workload/command/output/log_lines.h"
#include "workload/command/output/number.h"
#include "workload/command/output/regex.h"
#include "workload/command/output/words.h"

namespace sweetspot::workload::command::output {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t fewest_values = 3;
constexpr std::size_t most_values_shown = 5;
constexpr std::size_t longest_line = 512;  // further right there is no counter
constexpr double least_regular = 0.75;     // share of its rises with the same size
constexpr double least_rising = 0.6;       // share of its lines where it rises

// Integers that rise next to these are not steps.
constexpr std::array other_labels = {
    "tok"sv,    "tokens"sv,   "token"sv,     "byte"sv,     "bytes"sv,   "kb"sv,    "mb"sv,
    "gb"sv,     "mem"sv,      "memory"sv,    "flops"sv,    "params"sv,  "file"sv,  "files"sv,
    "line"sv,   "lines"sv,    "class"sv,     "seed"sv,     "port"sv,    "pid"sv,   "size"sv,
    "len"sv,    "length"sv,   "episode"sv,   "episodes"sv, "game"sv,    "games"sv, "frame"sv,
    "frames"sv, "words"sv,    "py"sv,        "loss"sv,     "correct"sv, "error"sv, "errors"sv,
    "layer"sv,  "timestep"sv, "timesteps"sv, "v"sv};

struct Sighting {
  std::size_t line = 0;
  Number number;
};

// One number followed through the lines, by the text before it.
struct Series {
  std::vector<Sighting> seen;
  Role role = Role::none;

  double regularity = 0;
  bool restarts = false;
};
using AllSeries = std::map<std::string, Series>;  // by the text before

// The letters before a number: "step=" → "step".
std::string_view label_of(std::string_view before) {
  const std::size_t end = before.find_last_not_of(" \t:=#[](){}<>\"'|*~@-_`");
  if (end == std::string_view::npos || !is_letter(before[end])) return {};
  std::size_t begin = end;
  while (begin > 0 && is_letter(before[begin - 1])) --begin;
  return before.substr(begin, end + 1 - begin);
}

bool is_other(std::string_view label) {
  return std::ranges::find(other_labels, core::lower(label)) != other_labels.end();
}

bool may_count(Role role) {
  return role == Role::none || role == Role::update || role == Role::sample ||
         role == Role::position || role == Role::training;
}

// The front of a line with its numbers removed, so that lines of one kind have it in common.
std::string skeleton(std::string_view before) {
  std::string text;
  for (const char c : before) {
    const char shown = is_digit(c) ? '0' : c;
    const bool repeats = !text.empty() && text.back() == shown && (shown == '0' || shown == ' ');
    if (!repeats) text += shown;
  }
  return text;
}

// Rises throughout, usually by the same amount; where it falls it restarts.
bool rises(Series& series) {
  if (series.seen.size() < fewest_values) return false;
  std::map<std::int64_t, int> sizes;
  std::int64_t longest = 0, first = series.seen.front().number.value;
  int all = 0;
  for (std::size_t at = 1; at < series.seen.size(); ++at) {
    const std::int64_t value = series.seen[at].number.value;
    const std::int64_t by = value - series.seen[at - 1].number.value;
    if (by < 0) {
      if (value > std::max(first, longest)) return false;
      series.restarts = true;
    }
    if (by > 0) {
      ++sizes[by];
      ++all;
      longest = std::max(longest, by);
    }
  }
  if (all < 2 || all < least_rising * static_cast<double>(series.seen.size() - 1)) return false;
  int commonest = 0;
  for (const auto& [by, count] : sizes) commonest = std::max(commonest, count);
  series.regularity = static_cast<double>(commonest) / all;
  return series.regularity >= least_regular;
}

constexpr auto beyond_ascii = "[^\\x00-\\x7f]+"sv;

std::string escaped(std::string_view literal) {
  std::string text;
  for (const char c : literal) {
    if (c == ' ' || c == '\t') {
      if (!text.ends_with("\\s+")) text += "\\s+";
    } else if (is_digit(c)) {
      if (!text.ends_with("\\d+")) text += "\\d+";
    } else if (c == '\'') {
      text += '.';  // special in the shell
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      if (!text.ends_with(beyond_ascii)) text += beyond_ascii;
    } else {
      if ("\\^$.|?*+()[]{}"sv.find(c) != std::string_view::npos) text += '\\';
      text += c;
    }
  }
  return text;
}

// Words that change between lines would not match: those with digits become \S+.
std::string escaped_front(std::string_view before) {
  const std::size_t last = before.find_last_of(" \t");
  if (last == std::string_view::npos) return "^" + escaped(before);
  std::string text = "^";
  std::string_view front = before.substr(0, last + 1);
  while (!front.empty()) {
    const std::size_t space = front.find_first_of(" \t");
    const std::string_view word = front.substr(0, space);
    text += std::any_of(word.begin(), word.end(), is_digit) ? "\\S+" : escaped(word);
    const std::size_t next = front.find_first_not_of(" \t", space);
    text += word.empty() ? "\\s*" : "\\s+";
    front.remove_prefix(std::min(next, front.size()));
  }
  return text + escaped(before.substr(last + 1));
}

// From the simplest to the most exact.
std::vector<std::string> expressions(std::string_view line, const Series& series) {
  const Number& number = series.seen.back().number;
  const std::string_view before = line.substr(0, number.begin), after = line.substr(number.end);
  const bool grouped =
      std::any_of(series.seen.begin(), series.seen.end(),
                  [](const Sighting& one) {
                    return one.number.value > 999 && one.number.digits_end - one.number.begin > 4;
                  }) &&
      line.substr(number.begin, number.digits_end - number.begin).find_first_of(",_") != line.npos;
  const std::string digits = grouped ? "[\\d,_]+" : "\\d+";
  const std::string counter = (series.role == Role::sample ? "(?<samples>" : "(") + digits + ")" +
                              (number.total ? "\\s*(?:/|of|out of)\\s*\\d" : "");
  const std::string next = after.empty() || number.total ? "" : escaped(after.substr(0, 1));
  std::vector<std::string> all;
  const std::string_view label = label_of(before);
  std::vector<std::string> fronts;
  if (!label.empty()) {
    const std::size_t begin = static_cast<std::size_t>(label.data() - before.data());
    fronts.push_back("\\b" + escaped(before.substr(begin)));
    const std::string_view one_more = label_of(before.substr(0, begin));
    if (!one_more.empty())
      fronts.push_back("\\b" + escaped(before.substr(
                                   static_cast<std::size_t>(one_more.data() - before.data()))));
  }
  if (!before.empty() && !is_letter(before.back()) && !is_digit(before.back()) &&
      before.back() != ' ')
    fronts.push_back(escaped(before.substr(before.size() - 1)));
  fronts.push_back(escaped_front(before));
  for (const std::string& front : fronts) {
    std::string padded = front;  // "iter  9" and "iter 10"
    if (padded.ends_with("\\s+")) padded.replace(padded.size() - 3, 3, "\\s*");
    if (padded == "^") padded = "^\\s*";
    all.push_back(padded + counter);
    if (!next.empty()) all.push_back(padded + counter + next);
  }
  return all;
}

// Whether it reads exactly the series from these lines, and nothing else.
bool reads(const std::string& expression, const Series& series,
           const std::vector<std::string_view>& lines) {
  std::vector<std::int64_t> expected, found;
  for (const Sighting& one : series.seen) expected.push_back(one.number.value);
  StepsRegex regex(expression);
  for (const std::string_view line : lines)
    regex.read(line, [&](std::int64_t count) { found.push_back(count); });
  return found == expected && !regex.gave_up();
}

bool any_rises(const std::vector<std::int64_t>& values) {
  if (values.size() < fewest_values) return false;
  return std::adjacent_find(values.begin(), values.end(), std::greater<>()) == values.end() &&
         values.front() < values.back();
}

// The expression for the most likely of them.
std::optional<Suggestion> from_series(AllSeries& all, const std::vector<std::string_view>& cut,
                                      const std::vector<std::uint64_t>& evaluations) {
  std::vector<Series*> ranked;
  for (auto& [front, series] : all)
    if (rises(series)) ranked.push_back(&series);
  // The most regular; among equals the one with a word for it, then the one in more lines.
  std::stable_sort(ranked.begin(), ranked.end(), [](const Series* left, const Series* right) {
    const auto rank = [](const Series& one) {
      return std::tuple(one.role == Role::update || one.role == Role::sample, one.regularity,
                        one.seen.size());
    };
    return rank(*left) > rank(*right);
  });
  for (const Series* series : ranked) {
    const bool validates =
        std::all_of(series->seen.begin() + 1, series->seen.end(), [&](const Sighting& one) {
          return evaluations[one.line] != 0 && evaluations[one.line] != evaluations[one.line - 1];
        });
    if (validates) return Suggestion{.kind = Suggestion::Kind::each_validates};
    for (const std::string& expression : expressions(cut[series->seen.back().line], *series))
      if (reads(expression, *series, cut)) {
        Suggestion suggestion{.kind = Suggestion::Kind::paste_regex, .regex = expression};
        const std::size_t from =
            series->seen.size() - std::min(series->seen.size(), most_values_shown);
        for (std::size_t at = from; at < series->seen.size(); ++at)
          suggestion.values.push_back(series->seen[at].number.value);
        return suggestion;
      }
  }
  return std::nullopt;
}

}  // namespace

Suggestion suggest(const std::vector<std::string>& lines) {
  if (lines.size() < fewest_values) return {};
  AllSeries training, validation;
  bool environment = false;
  std::vector<std::string_view> cut;
  std::vector<std::int64_t> epochs, percents;
  std::vector<std::uint64_t> evaluations(lines.size());
  for (std::size_t at = 0; at < lines.size(); ++at) {
    const std::string_view text = std::string_view(lines[at]).substr(0, longest_line);
    cut.push_back(lines[at]);
    const LogLine line = read_log_line(text);
    if (line.epoch) epochs.push_back(*line.epoch);
    environment = environment || line.environment;
    evaluations[at] = line.evaluation;
    // It was recognised, and is not the training's.
    if (read_bar(text) || read_drawn_bar(text)) continue;
    const bool is_other_line =
        line.is_of_something_else() || (line.saves && !line.training_metrics);
    for (std::size_t digit = 0; digit < text.size();) {
      if (!is_digit(text[digit])) {
        ++digit;
        continue;
      }
      const Number number = read_number(text, digit);
      digit = number.end;
      if (number.percent)
        percents.push_back(Cursor(text.substr(number.begin)).take_count().value_or(0));
      const bool has_unit = number.end < text.size() && is_letter(text[number.end]);
      if (number.kind != Number::Kind::whole || has_unit) continue;
      const std::string_view before = text.substr(0, number.begin), label = label_of(before);
      // "S00020": the letter is not a unit of time.
      const bool glued = label.size() == 1 && before.ends_with(label);
      const Role role = glued ? Role::none : role_of(label);
      if (!may_count(role) || is_other(label)) continue;
      const bool may_validate = line.evaluates && (role == Role::update || role == Role::sample);
      if (is_other_line && !may_validate) continue;
      Series& series = (is_other_line ? validation : training)[skeleton(before)];
      series.role = role;
      series.seen.push_back({at, number});
    }
  }
  if (environment) return {.kind = Suggestion::Kind::environment};
  if (const auto found = from_series(training, cut, evaluations)) return *found;
  if (any_rises(epochs)) return {.kind = Suggestion::Kind::epochs_only};
  if (any_rises(percents)) return {.kind = Suggestion::Kind::percent_only};
  // "[test] step 20": perhaps the program has that name.
  if (auto found = from_series(validation, cut, evaluations); found && !found->regex.empty()) {
    found->kind = Suggestion::Kind::validation;
    return *found;
  }
  return {.kind = Suggestion::Kind::nothing_rises};
}

}  // namespace sweetspot::workload::command::output
