#pragma once
#include <sweetspot/result.h>

#include <optional>

#include "advise/advise.h"
#include "trial/trial.h"

namespace sweetspot::api {

// The values of the library as those that callers see.
Interval public_interval(const trial::Interval& interval);
Trial public_trial(const trial::Trial& trial);
Trial public_trial(const trial::Trial& trial, const std::optional<advise::Bottleneck>& limited_by);

}  // namespace sweetspot::api
