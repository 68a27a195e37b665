#pragma once
#include <memory>

#include "workload/checkpoint_branches.h"
#include "workload/native/train.h"

namespace sweetspot::workload::native {

// Branches of the run's model on its data. The checkpoint is `epochs` after the run's first weights
// (or those of --load), trained with the run's batch, including optimizer state. InputError on a
// GPU.
std::unique_ptr<Branching> make_branching(Run run, int epochs);

}  // namespace sweetspot::workload::native
