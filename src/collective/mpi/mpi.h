#pragma once
#include <filesystem>
#include <memory>
#include <optional>

#include "collective/joined_group.h"

namespace sweetspot::collective {

// The number of ranks, if an MPI launcher (mpirun, srun) started this process.
std::optional<int> started_ranks();
// Tasks that srun did not connect, so that MPI cannot find the others. nullopt if there are none.
std::optional<int> unconnected_tasks();

// libsweetspot_mpi.so; nullopt if it is missing.
std::optional<std::filesystem::path> mpi_library();

// Joins the ranks that were started with this one. InputError if sweetspot was built without MPI,
// MachineError if MPI fails.
std::unique_ptr<JoinedGroup> join_mpi();

}  // namespace sweetspot::collective
