#pragma once
#include <atomic>

#include "core/units.h"
#include "trial/answer_checks.h"
#include "workload/native/train.h"

namespace sweetspot::workload::native {

// The gradient noise at fresh weights and after training at `setting` for an epoch, or as much of
// it as the time allows, in about `time` in total. No pass is larger than `largest`.
trial::GradientNoise measure_noise(const Run& run, const trial::Setting& setting,
                                   std::int64_t largest, core::Seconds time,
                                   const std::atomic<int>& stop);

// This many steps at the setting from fresh weights, or fewer if the loss diverges.
trial::RateRun try_rate(const Run& run, const trial::Setting& setting, std::int64_t steps,
                        const std::atomic<int>& stop);

}  // namespace sweetspot::workload::native
