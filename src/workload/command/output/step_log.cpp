#include <algorithm>
#include <array>

#include "workload/command/output/cursor.h"
#include "workload/command/output/purpose.h"
#include "workload/command/output/refresh.h"

// Log lines that count updates in brackets:
//   Epoch: [0][  10/5005]  Time …            PyTorch's ImageNet example, torchvision, MMEngine
//   Epoch [1/10], Step [100/600], Loss: …    tutorials
//   Train: 0 [  50/1251 (  4%)]  Loss: …     timm
namespace sweetspot::workload::command::output {
namespace {

using namespace std::string_view_literals;

constexpr std::array step_words = {"step"sv, "iter"sv, "iteration"sv, "batch"sv};

// A bracket with n/N means steps after one that held the epoch, or after a word for steps;
// elsewhere it may be epochs, samples or files.
bool announces_steps(std::string_view before) {
  if (before.ends_with(']') || purpose_of(before) == Purpose::other) return true;
  if (before.ends_with(':')) before.remove_suffix(1);
  return std::any_of(step_words.begin(), step_words.end(), [before](std::string_view word) {
    // The first letter in either case.
    return before.ends_with(word.substr(1)) && before.size() >= word.size() &&
           (before[before.size() - word.size()] | 0x20) == word.front();
  });
}

std::optional<Refresh> read_bracket(std::string_view inside, std::string_view before) {
  Cursor cursor(inside);
  Refresh refresh{.format = Format::step_log};
  cursor.take_spaces();
  const auto count = cursor.take_count();
  if (!count || !cursor.take("/")) return std::nullopt;
  refresh.count = *count;
  refresh.total = cursor.take_count();
  if (!refresh.total) return std::nullopt;
  if (cursor.take(" (")) {
    cursor.take_spaces();
    const bool is_timm = before.starts_with("Train: ") || before.starts_with("Test: ");
    if (!is_timm || !cursor.take_count() || !cursor.take("%)]")) return std::nullopt;
  } else if (!cursor.take("]") || !announces_steps(before)) {
    return std::nullopt;
  }
  refresh.description = before;
  return refresh;
}

}  // namespace

std::optional<Refresh> read_step_log(std::string_view text) {
  std::size_t bracket = text.find('[');
  for (int tried = 0; bracket != std::string_view::npos && tried < most_brackets; ++tried) {
    if (auto refresh = read_bracket(text.substr(bracket + 1), trimmed(text.substr(0, bracket))))
      return refresh;
    bracket = text.find('[', bracket + 1);
  }
  return std::nullopt;
}

}  // namespace sweetspot::workload::command::output
