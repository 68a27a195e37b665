#pragma once
#include <optional>
#include <vector>

#include "advise/advise.h"
#include "study/loop.h"

namespace sweetspot::study {

// How noisy the gradients are where the answer was found, from a short training at the learning
// rate's own batch. Nothing where it cannot be told.
std::optional<trial::GradientNoise> measure_noise(Loop& loop, workload::Workload& workload,
                                                  const advise::Recommendation& made,
                                                  const advise::LearningRateBase& base);

// Short runs at half the answer's learning rate, at it, and at twice as much. Empty where that
// cannot be done, or was stopped.
std::vector<trial::RateRun> check_rate(Loop& loop, workload::Workload& workload,
                                       const advise::Recommendation& made);

// How fast ranks are at the answer beside one of them alone; nothing where the workload has none,
// or where it cannot be told.
std::optional<trial::Scaling> check_scaling(Loop& loop, workload::Workload& workload,
                                            const advise::Recommendation& made);

}  // namespace sweetspot::study
