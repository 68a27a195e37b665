#pragma once
#include <filesystem>
#include <memory>
#include <optional>

#include "collective/joined_group.h"

namespace sweetspot::collective {

// Whether something that speaks MPI started this process (mpirun, srun): how many ranks it started.
std::optional<int> started_ranks();
// Tasks of srun that it did not connect: MPI cannot find the others. Nothing where there are none.
std::optional<int> unconnected_tasks();

// libsweetspot_mpi.so; nothing where it is not.
std::optional<std::filesystem::path> mpi_library();

// Joins the ranks that were started with this one. InputError where sweetspot was built without
// MPI, MachineError where MPI fails.
std::unique_ptr<JoinedGroup> join_mpi();

}  // namespace sweetspot::collective
