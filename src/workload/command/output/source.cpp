#include "workload/command/output/source.h"

#include <algorithm>

#include "workload/command/output/cursor.h"
#include "workload/command/output/purpose.h"

namespace sweetspot::workload::command::output {
namespace {

// "1/100 2.33G 1.221 … 640": the epoch, memory, losses and the image size, without a word.
bool is_ultralytics(std::string_view description) {
  Cursor cursor(description);
  if (!cursor.take_count() || !cursor.take("/") || !cursor.take_count()) return false;
  const std::string fixed = fixed_part(description);
  return std::count(fixed.begin(), fixed.end(), '#') >= 4 &&
         fixed.find_first_not_of("# ") == std::string::npos;
}

}  // namespace

void Source::read_line(std::string_view text) {
  if (text.starts_with("{'") && has(text, "'epoch':")) hf_trainer_ = true;
  if (text.starts_with("Sanity Checking")) lightning_ = true;
}

std::string Source::name(const Refresh& refresh, std::string_view text) const {
  switch (refresh.format) {
    case Format::keras:
      return "Keras progress bar";
    case Format::ultralytics:
      return "Ultralytics bar";
    case Format::rich:
      return "Lightning bar";
    case Format::drawn:
      return "progress bar";
    case Format::log_line:
      return refresh.counts == Counts::samples ? "log lines of samples" : "log lines of steps";
    case Format::regex:
      return "--steps-regex";
    case Format::tqdm:
      break;
  }
  if (is_ultralytics(refresh.description)) return "Ultralytics bar";
  if (lightning_ || has(text, "v_num=")) return "Lightning bar";
  return hf_trainer_ ? "HF Trainer bar" : "tqdm bar";
}

}  // namespace sweetspot::workload::command::output
