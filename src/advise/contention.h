#pragma once
#include <optional>
#include <span>
#include <string>

#include "search/search.h"
#include "trial/trial.h"

namespace sweetspot::advise {

// Whether a speed that the choice quotes, its own or the best one, is known from contended trials
// only.
bool rests_on_contended(std::span<const trial::Trial> trials, const search::Choice& choice);

// What the company of other work means for the answer; nothing where there was none.
std::optional<std::string> contention_reason(std::span<const trial::Trial> trials,
                                             const search::Choice& choice);

// How much of what was measured does not count, because the machine was slow then; nothing where
// that is not worth a word.
std::optional<std::string> disturbance_reason(std::span<const trial::Trial> trials);

}  // namespace sweetspot::advise
