#pragma once
#include <filesystem>
#include <memory>
#include <optional>

#include "collective/joined_group.h"

namespace sweetspot::collective {

// Ranks that a launcher started: mpirun or srun, over MPI; torchrun, over Gloo.

// This process's rank on its machine, from the launchers' variables; 0 without any.
int local_rank();

// The number of ranks, if an MPI launcher (mpirun, srun) started this process.
std::optional<int> started_ranks();
// Tasks that srun did not connect, so that MPI cannot find the others. nullopt if there are none.
std::optional<int> unconnected_tasks();

// libsweetspot_mpi.so; nullopt if it is missing.
std::optional<std::filesystem::path> mpi_library();

// Joins the ranks that were started with this one. InputError if sweetspot was built without MPI,
// MachineError if MPI fails.
std::unique_ptr<JoinedGroup> join_mpi();

// The number of ranks, if torchrun started this process, or anything else that sets its variables
// (RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT).
std::optional<int> torchrun_ranks();

// libsweetspot_gloo.so; nullopt if it is missing.
std::optional<std::filesystem::path> gloo_library();

// Joins the ranks of these variables over Gloo, as PyTorch does on CPUs; they meet at the address
// in the variables. InputError if sweetspot was built without Gloo, MachineError on failure.
std::unique_ptr<JoinedGroup> join_gloo();

}  // namespace sweetspot::collective
