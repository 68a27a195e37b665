#include "workload/command/output/source.h"

#include <algorithm>
#include <array>

#include "core/text.h"
#include "workload/command/output/cursor.h"
#include "workload/command/output/words.h"

namespace sweetspot::workload::command::output {
namespace {

using namespace std::string_view_literals;

constexpr std::array training_starts = {"train"sv, "fit"sv, "epoch"sv};
// Ultralytics' validation bar has the columns' names as its heading.
constexpr std::array other_starts = {"class images"sv, "classes top"sv};

// "val_loss=0.3" and "test/acc" in a description are metrics of a training bar.
bool names_a_metric(std::string_view after) {
  return !after.empty() && (after.front() == '_' || after.front() == '=' || after.front() == '/');
}

template <class Each>
void each_word(std::string_view text, Each each) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = word_end(text, at);
    if (end == at) {
      ++at;
      continue;
    }
    each(text.substr(at, end - at), text.substr(end));
    at = end;
  }
}

}  // namespace

Purpose purpose_of(std::string_view description) {
  const std::string fixed = core::lower(fixed_part(description));
  for (const std::string_view start : other_starts)
    if (fixed.starts_with(start)) return Purpose::other;
  if (has(description, "(num_proc=")) return Purpose::other;  // Hugging Face datasets
  Purpose purpose = Purpose::unsaid;
  each_word(core::lower(description), [&purpose](std::string_view word, std::string_view after) {
    const Role role = role_of(word);
    const bool is_other =
        role == Role::evaluation || role == Role::preparation || role == Role::saving;
    if (is_other && !names_a_metric(after)) purpose = Purpose::other;
    if (word == "epochs" && purpose == Purpose::unsaid) purpose = Purpose::epochs;
    if (purpose == Purpose::unsaid && role == Role::training) purpose = Purpose::training;
    if (purpose == Purpose::unsaid &&
        std::any_of(training_starts.begin(), training_starts.end(),
                    [word](std::string_view start) { return word.starts_with(start); }))
      purpose = Purpose::training;
  });
  return purpose;
}

std::string fixed_part(std::string_view description) {
  std::string fixed;
  for (std::size_t at = 0; at < description.size();) {
    const std::size_t end = std::min(description.find_first_of(" \t", at), description.size());
    const std::string_view word = description.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const bool changes = std::any_of(word.begin(), word.end(), is_digit) || word == "nan" ||
                         word == "inf" || word == "-inf";
    if (!fixed.empty()) fixed += ' ';
    fixed += changes ? "#" : word;
  }
  return fixed;
}

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
