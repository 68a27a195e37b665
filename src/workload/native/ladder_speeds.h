#pragma once
#include <vector>

#include "convergence/batch_growth.h"
#include "workload/native/epochs.h"

namespace sweetspot::workload::native {

// The speed of each batch of the options' ladder, from a few updates of each, whose effect on the
// weights is undone. Ends where larger batches are no faster: a dynamic batch needs only the knee
// and slightly beyond.
std::vector<convergence::BatchSpeed> ladder_speeds(Epochs& epochs, const Options& options);

}  // namespace sweetspot::workload::native
