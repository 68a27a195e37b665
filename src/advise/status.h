#pragma once
#include <span>
#include <string>
#include <string_view>

#include "advise/advise.h"

namespace sweetspot::advise {

// How a study ended. `batch_unconfirmed`: nothing shows that the program uses its batch.
// `energy_unknown`: it was requested, and could not be read.
enum class Status {
  found,
  nothing_feasible,
  batch_unconfirmed,
  energy_unknown,
  stopped,
  budget,
  store_failed,
  device_lost
};
std::string_view name(Status status);
// From the end of its trials, and whether there is an answer.
Status status_of(CutShort end, bool found);

// Why there is no answer, for users. The trials are those of one curve, in time order.
std::string no_energy_words();
std::string nothing_feasible_words(std::span<const trial::Trial> trials,
                                   const search::Limits& limits, const search::Predict& predict);
// For an interrupted search; `cut_off`: the note of the interrupted trial.
std::string nothing_known_words(std::span<const trial::Trial> trials, const std::string& cut_off);

}  // namespace sweetspot::advise
