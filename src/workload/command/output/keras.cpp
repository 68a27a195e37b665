#include "workload/command/output/cursor.h"
#include "workload/command/output/refresh.h"
#include "workload/command/output/words.h"

// Keras 3   24/200 ━━━━━━━━━━━━━━━━━━━━ 9s 52ms/step - loss: 0.5
// Keras 2   24/200 [==>...........................] - ETA: 9s - loss: 0.5
// verbose=2  200/200 - 12s - 58ms/step - loss: 0.5, and "12s 58ms/step" in Keras 2
// and with a data set of unknown length  24/Unknown 9s 52ms/step
namespace sweetspot::workload::command::output {
namespace {

constexpr std::string_view heavy_line = "━";

// "ms/step" or "us/sample" anywhere: what is counted, where it is said.
Counts counts_said(std::string_view text) {
  return text.find("s/sample") == std::string_view::npos ? Counts::updates : Counts::samples;
}

// "[=====>....]"
bool take_old_bar(Cursor& cursor) {
  if (!cursor.take("[")) return false;
  const std::size_t length = cursor.rest().find_first_not_of("=>.");
  return length != 0 && length != std::string_view::npos &&
         cursor.take(cursor.rest().substr(0, length)) && cursor.take("]");
}

bool has_rate_or_loss(std::string_view text) {
  return text.find("s/step") != std::string_view::npos ||
         text.find("s/sample") != std::string_view::npos ||
         text.find("loss") != std::string_view::npos;
}

}  // namespace

std::optional<Refresh> read_keras(std::string_view text) {
  Cursor cursor(text);
  cursor.take_spaces();
  Refresh refresh{.format = Format::keras};
  const auto count = cursor.take_count();
  if (!count || !cursor.take("/")) return std::nullopt;
  refresh.count = *count;
  const bool endless = cursor.take("Unknown");
  if (!endless) refresh.total = cursor.take_count();
  if (!endless && !refresh.total) return std::nullopt;
  cursor.take_spaces();
  refresh.counts = counts_said(cursor.rest());
  refresh.after_validation = cursor.rest().find(" - val_") != std::string_view::npos;
  if (endless) return refresh;
  if (cursor.rest().starts_with(heavy_line) || take_old_bar(cursor)) return refresh;
  if (!cursor.take("- ") || !has_rate_or_loss(cursor.rest())) return std::nullopt;
  refresh.whole_epoch = refresh.count == refresh.total;
  return refresh;
}

}  // namespace sweetspot::workload::command::output
