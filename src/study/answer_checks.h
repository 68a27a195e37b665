#pragma once
#include <optional>
#include <vector>

#include "advise/advise.h"
#include "study/loop.h"

namespace sweetspot::study {

// The gradient noise at the answer, from a short training at the learning rate's own batch. nullopt
// if unknown.
std::optional<trial::GradientNoise> measure_noise(Loop& loop, workload::Workload& workload,
                                                  const advise::Recommendation& made,
                                                  const advise::LearningRateBase& base);

// Short runs at half, once and twice the answer's learning rate. Empty if that is not possible, or
// was stopped.
std::vector<trial::RateRun> check_rate(Loop& loop, workload::Workload& workload,
                                       const advise::Recommendation& made);

// The speed of the ranks at the answer compared with a single one; nullopt without ranks, or if
// unknown.
std::optional<trial::Scaling> check_scaling(Loop& loop, workload::Workload& workload,
                                            const advise::Recommendation& made);

}  // namespace sweetspot::study
