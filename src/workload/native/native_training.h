#pragma once
#include <memory>

#include "workload/native/train.h"
#include "workload/training.h"

namespace sweetspot::workload::native {

// The run's model on its data, trained whole at any setting: every sample of an epoch is used, the
// last and smaller batch included unless the run drops it. The setting decides batch, accumulation,
// workers, prefetch, learning rate and seed.
std::unique_ptr<Training> make_training(Run run);

}  // namespace sweetspot::workload::native
