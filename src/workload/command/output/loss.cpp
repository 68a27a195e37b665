#include "workload/command/output/loss.h"

#include <array>
#include <charconv>
#include <cmath>

#include "workload/command/output/cursor.h"

namespace sweetspot::workload::command::output {
namespace {

constexpr std::int64_t most_steps = std::int64_t{1} << 40;

char in_small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool reads(std::string_view text, std::size_t at, std::string_view word) {
  if (text.size() - at < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if (in_small(text[at + i]) != word[i]) return false;
  return true;
}

// For "val_loss", "Test loss" and "eval/loss": the text before it says whose it is.
bool is_of_evaluation(std::string_view before) {
  constexpr std::array<std::string_view, 6> words{"val",  "valid", "validation",
                                                  "test", "eval",  "dev"};
  while (!before.empty() && !is_letter(before.back()) && before.back() != ',' &&
         before.back() != '|' && before.back() != ';')
    before.remove_suffix(1);
  std::size_t begin = before.size();
  while (begin > 0 && is_letter(before[begin - 1])) --begin;
  const std::string_view word = before.substr(begin);
  for (const std::string_view each : words)
    if (word.size() == each.size() && reads(word, 0, each)) return true;
  return false;
}

// After its name: quotes, then a colon, an equals sign or blanks, as in JSON, bars and sentences.
std::optional<double> number_behind(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && at < 6 && std::string_view("\"' :=(\t").find(text[at]) != text.npos)
    ++at;
  if (at == 0) return std::nullopt;
  double value = 0;
  const char* const begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  // "loss 3/10" counts losses, "loss 3x" is a name, "2,31" has a decimal comma.
  const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const char next = rest.empty() ? ' ' : rest.front();
  if (next == ',' && rest.size() > 1 && is_digit(rest[1])) return std::nullopt;
  return next == '/' || is_letter(next) || next == '_' ? std::nullopt : std::optional(value);
}

// 1, 2, 5, 10, 20, 50, …
std::int64_t next_kept(std::int64_t step) {
  std::int64_t unit = 1;
  while (10 * unit <= step) unit *= 10;
  return step < 2 * unit ? 2 * unit : step < 5 * unit ? 5 * unit : 10 * unit;
}

}  // namespace

std::optional<double> loss_in(std::string_view text) {
  constexpr std::string_view word = "loss";
  for (std::size_t at = 0; at + word.size() < text.size(); ++at) {
    if (!reads(text, at, word)) continue;
    const bool is_part = at > 0 && is_letter(text[at - 1]);  // "glossy"
    if (is_part || is_of_evaluation(text.substr(0, at))) continue;
    if (const auto value = number_behind(text.substr(at + word.size()))) return value;
  }
  return std::nullopt;
}

void LossCurve::add(std::int64_t step, double loss) {
  if (ended_ || step < 1 || step > most_steps || !std::isfinite(loss)) return;
  if (last_ && step < last_->step) {
    ended_ = true;
    return;
  }
  if (last_ && step == last_->step) return;  // a redrawn bar, or a repeated line
  last_ = {step, loss};
  while (next_kept(next_) <= step) next_ = next_kept(next_);
  if (step < next_) return;
  constexpr double little = 1.1;
  if (static_cast<double>(step) <= little * static_cast<double>(next_))
    kept_.push_back({next_, loss});
  next_ = next_kept(next_);
}

std::vector<trial::Loss> LossCurve::losses() const {
  std::vector<trial::Loss> all = kept_;
  if (last_ && (all.empty() || last_->step > all.back().step)) all.push_back(*last_);
  return all;
}

}  // namespace sweetspot::workload::command::output
