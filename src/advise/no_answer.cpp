#include "advise/no_answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "advise/phrases.h"
#include "core/text.h"

namespace sweetspot::advise {

using phrases::size;

std::string no_energy_words() {
  return "the energy of these trials cannot be read (see sweetspot doctor): leave out --for energy";
}

std::string nothing_feasible_words(std::span<const trial::Trial> trials,
                                   const search::Limits& limits, const search::Predict& predict) {
  const auto failed = std::ranges::find_if(
      trials, [](const trial::Trial& t) { return t.outcome != trial::Outcome::ok; });
  if (failed != trials.end())
    return fmt::format("no batch could be trained: batch {} ended as {}{}",
                       size(failed->setting.batch), name(failed->outcome),
                       failed->note.empty() ? "" : ": " + core::printable(failed->note));
  const auto least = predict(limits.min);
  if (least && limits.memory.limit && *least > *limits.memory.limit)
    return fmt::format(
        "no batch fits: batch {} takes {} and {} are allowed; use a smaller model or "
        "a larger --memory-limit",
        size(limits.min), core::format_bytes(*least), core::format_bytes(*limits.memory.limit));
  return fmt::format("no batch between {} and {} fits", size(limits.min), size(limits.max));
}

std::string nothing_known_words(std::span<const trial::Trial> trials, const std::string& cut_off) {
  if (!trials.empty())
    return fmt::format(
        "only batch {} was measured, and nothing to compare it with; the same command goes on",
        size(trials.front().setting.batch));
  return "nothing is known yet" + (cut_off.empty() ? "" : ": " + core::printable(cut_off));
}

}  // namespace sweetspot::advise
