#pragma once
#include <sweetspot/result.h>

#include <optional>

#include "advise/advise.h"
#include "trial/trial.h"
#include "tuning/tune.h"

namespace sweetspot::api {

// Internal values converted to public ones.
Interval public_interval(const trial::Interval& interval);
Trial public_trial(const trial::Trial& trial);
Trial public_trial(const trial::Trial& trial, const std::optional<advise::Bottleneck>& limited_by);

// The result of a study, for the caller. `workload` and `study` name it in the JSON.
Result answer(const tuning::TuneResult& found, const std::string& workload,
              const std::string& study);

}  // namespace sweetspot::api
