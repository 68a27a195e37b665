#pragma once
#include <optional>

namespace sweetspot::collective {

// What the variables of launchers say about the ranks that were started with this process.

// This process's rank on its machine, from the launchers' variables; 0 without any.
int local_rank();

// The number of ranks, if an MPI launcher (mpirun, srun) started this process.
std::optional<int> started_ranks();
// Tasks that srun did not connect, so that MPI cannot find the others. nullopt if there are none.
std::optional<int> unconnected_tasks();
// Ranks of torchrun, or of anything else that sets its variables (RANK, WORLD_SIZE, MASTER_ADDR and
// MASTER_PORT), which MPI does not connect either. nullopt if there are none.
std::optional<int> torchrun_ranks();

}  // namespace sweetspot::collective
