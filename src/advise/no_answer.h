#pragma once
#include <span>
#include <string>

#include "advise/advise.h"

namespace sweetspot::advise {

// Why a tune has no answer, for users. The trials are those of one curve, in time order.
std::string no_energy_words();
std::string nothing_feasible_words(std::span<const trial::Trial> trials,
                                   const search::Limits& limits, const search::Predict& predict);
// For an interrupted search; `cut_off`: the note of the interrupted trial.
std::string nothing_known_words(std::span<const trial::Trial> trials, const std::string& cut_off);

}  // namespace sweetspot::advise
