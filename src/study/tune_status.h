#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "search/search.h"
#include "study/loop.h"

namespace sweetspot::study {

// How a tune ended. `batch_unconfirmed`: nothing shows that the program uses its batch.
// `energy_unknown`: it was requested, and could not be read.
enum class Status {
  found,
  nothing_feasible,
  batch_unconfirmed,
  energy_unknown,
  budget,
  stopped,
  store_failed,
  device_lost
};
std::string_view name(Status status);
// From the end of its loop, and whether there is an answer.
Status status_of(advise::CutShort end, bool found);

// Why there is no answer, for users. The trials are those of one curve, in time order.
std::string no_energy_words();
std::string nothing_feasible_words(const std::vector<trial::Trial>& trials,
                                   const search::Limits& limits, const search::Predict& predict);
// For an interrupted search; `cut_off`: the note of the interrupted trial.
std::string nothing_known_words(const std::vector<trial::Trial>& trials,
                                const std::string& cut_off);

}  // namespace sweetspot::study
