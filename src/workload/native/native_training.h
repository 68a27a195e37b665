#pragma once
#include <memory>

#include "workload/native/train.h"
#include "workload/training.h"

namespace sweetspot::workload::native {

// The run's model on its data, trained completely at any setting: every sample of an epoch is used,
// including the last, smaller batch unless the run drops it. The setting decides batch,
// accumulation, workers, prefetch, learning rate and seed.
std::unique_ptr<Training> make_training(Run run);

}  // namespace sweetspot::workload::native
