#pragma once
#include <sweetspot/result.h>

#include <span>

#include "advise/advise.h"
#include "trial/trial.h"

namespace sweetspot::api {

// The values of the library as those that callers see.
Interval public_interval(const trial::Interval& interval);
Trial public_trial(const trial::Trial& trial);
// With the diagnosis, which takes the other trials.
Trial public_trial(const trial::Trial& trial, std::span<const trial::Trial> all,
                   const advise::Facts& facts);

}  // namespace sweetspot::api
