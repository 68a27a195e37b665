#pragma once
#include "advise/advise.h"

namespace sweetspot::advise {

// The values of a trained batch that the diagnosis uses.
struct MeasuredBatch {
  std::int64_t batch = 1;
  double samples_per_second = 0;
  std::optional<double> data_wait_share;
};
Bottleneck limit_of(const MeasuredBatch& measured, const std::optional<StepCost>& cost,
                    const Facts& facts);

}  // namespace sweetspot::advise
