#include "study/tune_status.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace sweetspot::study {
namespace {

std::string count(std::int64_t value) { return core::format_count(static_cast<double>(value)); }

}  // namespace

std::string_view name(Status status) {
  switch (status) {
    case Status::found:
      return "found";
    case Status::nothing_feasible:
      return "nothing_feasible";
    case Status::batch_unconfirmed:
      return "batch_unconfirmed";
    case Status::energy_unknown:
      return "energy_unknown";
    case Status::budget:
      return "budget";
    case Status::stopped:
      return "stopped";
    case Status::store_failed:
      return "store_failed";
    case Status::device_lost:
      return "device_lost";
  }
  return "";
}

Status status_of(advise::CutShort end, bool found) {
  switch (end) {
    case advise::CutShort::no:
      return found ? Status::found : Status::nothing_feasible;
    case advise::CutShort::stopped:
      return Status::stopped;
    case advise::CutShort::budget:
      return Status::budget;
    case advise::CutShort::store_failed:
      return Status::store_failed;
    case advise::CutShort::device_lost:
      return Status::device_lost;
  }
  return Status::found;
}

std::string no_energy_words() {
  return "the energy of these trials cannot be read (see sweetspot doctor): leave out --for energy";
}

std::string nothing_feasible_words(const std::vector<trial::Trial>& trials,
                                   const search::Limits& limits, const search::Predict& predict) {
  const auto failed = std::find_if(trials.begin(), trials.end(), [](const trial::Trial& t) {
    return t.outcome != trial::Outcome::ok;
  });
  if (failed != trials.end())
    return fmt::format("no batch could be trained: batch {} ended as {}{}",
                       count(failed->setting.batch), name(failed->outcome),
                       failed->note.empty() ? "" : ": " + core::printable(failed->note));
  const auto least = predict(limits.min);
  if (least && limits.memory.limit && *least > *limits.memory.limit)
    return fmt::format(
        "no batch fits: batch {} takes {} and {} are allowed; use a smaller model or "
        "a larger --memory-limit",
        count(limits.min), core::format_bytes(*least), core::format_bytes(*limits.memory.limit));
  return fmt::format("no batch between {} and {} fits", count(limits.min), count(limits.max));
}

std::string nothing_known_words(const std::vector<trial::Trial>& trials,
                                const std::string& cut_off) {
  if (!trials.empty())
    return fmt::format(
        "only batch {} was measured, and nothing to compare it with; the same command goes on",
        count(trials.front().setting.batch));
  return "nothing is known yet" + (cut_off.empty() ? "" : ": " + core::printable(cut_off));
}

}  // namespace sweetspot::study
