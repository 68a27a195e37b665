#include <algorithm>

#include "workload/command/output/cursor.h"
#include "workload/command/output/refresh.h"

namespace sweetspot::workload::command::output {
namespace {

// "640/60000 (1%)]"
std::optional<Refresh> read_inside(std::string_view text) {
  Cursor cursor(text);
  Refresh refresh{.format = Format::samples_log, .counts = Counts::samples};
  const auto count = cursor.take_count();
  if (!count || !cursor.take("/")) return std::nullopt;
  refresh.count = *count;
  refresh.total = cursor.take_count();
  cursor.take_spaces();
  if (!refresh.total || !cursor.take("(") || !cursor.take_count()) return std::nullopt;
  if (!cursor.take("%)]")) return std::nullopt;
  return refresh;
}

}  // namespace

std::optional<Refresh> read_samples_log(std::string_view text) {
  std::size_t bracket = text.find('[');
  for (int tried = 0; bracket != std::string_view::npos && tried < most_brackets; ++tried) {
    if (auto refresh = read_inside(text.substr(bracket + 1))) {
      refresh->description = trimmed(text.substr(0, bracket));
      return refresh;
    }
    bracket = text.find('[', bracket + 1);
  }
  return std::nullopt;
}

std::optional<Refresh> read_refresh(std::string_view text) {
  if (std::none_of(text.begin(), text.end(), is_digit)) return std::nullopt;
  auto refresh = read_tqdm(text);
  if (!refresh) refresh = read_keras(text);
  if (!refresh) refresh = read_heavy_bar(text);
  if (!refresh) refresh = read_step_log(text);
  if (!refresh) refresh = read_samples_log(text);
  if (refresh && refresh->total && refresh->count > *refresh->total) return std::nullopt;
  return refresh;
}

}  // namespace sweetspot::workload::command::output
