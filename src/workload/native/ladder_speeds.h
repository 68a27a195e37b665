#pragma once
#include <vector>

#include "convergence/batch_growth.h"
#include "workload/native/epochs.h"

namespace sweetspot::workload::native {

// How fast each batch of the options' ladder trains, from a few updates of each, whose effect on
// the weights is undone. Ends where larger batches are no faster: the knee and what lies a little
// beyond it is all that a dynamic batch can use.
std::vector<convergence::BatchSpeed> ladder_speeds(Epochs& epochs, const Options& options);

}  // namespace sweetspot::workload::native
