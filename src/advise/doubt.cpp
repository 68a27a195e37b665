#include "advise/doubt.h"

#include <fmt/format.h>

#include <algorithm>

#include "advise/json_form.h"
#include "core/text.h"

namespace sweetspot::advise {
namespace {

std::string figure(std::int64_t value) { return core::format_count(static_cast<double>(value)); }

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

template <class Words>
std::string of_each(const Doubt& doubt, const Words& words) {
  std::vector<std::string> each;
  for (const BatchSigns& signs : doubt.batches) each.push_back(words(signs));
  return listed(each);
}

template <class Sign>
bool all_have(const Doubt& doubt, const std::optional<Sign> BatchSigns::*sign) {
  return std::ranges::all_of(doubt.batches,
                             [&](const BatchSigns& signs) { return (signs.*sign).has_value(); });
}

std::string batches_of(const Doubt& doubt) {
  return (doubt.batches.size() == 1 ? "batch " : "batches ") +
         of_each(doubt, [](const BatchSigns& signs) { return figure(signs.batch); });
}

std::string step_times(const Doubt& doubt) {
  if (!all_have(doubt, &BatchSigns::step_seconds)) return "its steps are the same";
  return "a step takes " + of_each(doubt, [](const BatchSigns& signs) {
           return core::format_duration(core::Seconds(*signs.step_seconds));
         });
}

// The counts that should have changed and did not.
std::string counts(const Doubt& doubt) {
  const BatchSigns &first = doubt.batches.front(), &last = doubt.batches.back();
  std::string text;
  if (first.steps_total && first.steps_total == last.steps_total)
    text += fmt::format(", its counter ends at {} each time", figure(*first.steps_total));
  if (first.sample_stride && first.sample_stride == last.sample_stride)
    text +=
        fmt::format(", its count of samples rises by {} each time", figure(*first.sample_stride));
  if (first.memory && last.memory) text += ", and memory does not grow";
  return text;
}

std::string matter(const Doubt& doubt) {
  switch (doubt.arrival) {
    case BatchUse::ignored:
      if (doubt.used)
        return fmt::format("the program does not use its batch: at {} a step had {} samples",
                           batches_of(doubt), figure(*doubt.used));
      return fmt::format("the program does not seem to use its batch: at {} {}{}",
                         batches_of(doubt), step_times(doubt), counts(doubt));
    case BatchUse::scaled:
      return fmt::format(
          "a step of the program has {:g} times the samples of the batch that it is given: at {} "
          "it had {}",
          doubt.scale.value_or(0), batches_of(doubt), of_each(doubt, [](const BatchSigns& signs) {
            return signs.samples_per_step ? figure(*signs.samples_per_step) : "?";
          }));
    case BatchUse::miscounted:
      return fmt::format(
          "what the program counts gets shorter as its batch grows, so it is no step but a sample "
          "or an epoch: at {} {}",
          batches_of(doubt), step_times(doubt));
    default:
      return fmt::format("nothing shows that the program uses its batch: at {} {}{}",
                         batches_of(doubt), step_times(doubt), counts(doubt));
  }
}

std::string way_out(const Doubt& doubt) {
  const std::string handed =
      fmt::format("the batch is handed over {}", core::printable(doubt.handover));
  switch (doubt.arrival) {
    case BatchUse::scaled:
      return handed +
             ": is it that of each GPU or process? Then say --batch-is per-gpu and --gpus, how "
             "many there are";
    case BatchUse::miscounted:
      return "name the counter of its steps with --steps-regex (docs/programs.md), or say "
             "--batch-arrives if they are steps";
    default:
      if (doubt.used && doubt.batches.size() == 1)
        return handed +
               ": check that the program takes it from there, and that what "
               "sweetspot.step() is told are the samples of one GPU or process";
      return handed +
             ": check that the program takes it from there and gives it to its data loader, and "
             "that no config file or default stands in its way; --batch-arrives says that it does "
             "arrive";
  }
}

constexpr auto signs_fields = [](auto& form, auto& signs) {
  form.field("batch", signs.batch);
  form.field("step_seconds", signs.step_seconds);
  form.field("memory_bytes", signs.memory);
  form.field("steps_total", signs.steps_total);
  form.field("samples_per_step", signs.samples_per_step);
  form.field("sample_stride", signs.sample_stride);
};

constexpr auto doubt_fields = [](auto& form, auto& doubt) {
  form.named("doubt", doubt.arrival, BatchUse::ignored);
  form.derived("text", [&] { return words(doubt); });
  form.field("handover", doubt.handover);
  form.field("scale", doubt.scale);
  form.field("samples_used", doubt.used);
  form.list("batches", doubt.batches, signs_fields);
};

}  // namespace

std::string words(const Doubt& doubt) {
  if (doubt.batches.empty()) return "";
  return matter(doubt) + "; " + way_out(doubt);
}

std::string to_json(const Doubt& doubt) {
  return written_json([&](JsonWriter& form) { doubt_fields(form, doubt); });
}

std::optional<Doubt> doubt_from_json(const std::string& text) {
  Doubt doubt;
  const auto fields = [&](JsonReader& form) { doubt_fields(form, doubt); };
  if (!read_json(text, fields) || doubt.batches.empty()) return std::nullopt;
  return doubt;
}

}  // namespace sweetspot::advise
