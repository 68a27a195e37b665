#pragma once
#include <sweetspot/result.h>

#include <optional>

#include "advise/advise.h"
#include "report/shown_study.h"
#include "trial/trial.h"

namespace sweetspot::api {

// Internal values converted to public ones.
Interval public_interval(const trial::Interval& interval);
Trial public_trial(const trial::Trial& trial,
                   const std::optional<advise::Bottleneck>& limited_by = {});

// The result of a study, for the caller.
Result answer(const report::ShownStudy& study);

}  // namespace sweetspot::api
