#include "collective/mpi/mpi.h"

#include "collective/environment.h"
#include "core/error.h"

namespace sweetspot::collective {

std::optional<int> started_ranks() {
  // Open MPI's mpirun; MPICH's and Intel's, and srun --mpi=pmi2. Under srun --mpi=pmix the step's
  // own count is used; the batch script itself is not a step.
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const auto ranks = positive_in(variable)) return ranks;
  if (std::getenv("PMIX_RANK")) return positive_in("SLURM_STEP_NUM_TASKS");
  return std::nullopt;
}

std::optional<int> unconnected_tasks() {
  if (started_ranks()) return std::nullopt;
  const auto tasks = positive_in("SLURM_STEP_NUM_TASKS");
  return tasks.value_or(1) > 1 ? tasks : std::nullopt;
}

std::optional<std::filesystem::path> mpi_library() { return ranks_library("libsweetspot_mpi.so"); }

std::unique_ptr<JoinedGroup> join_mpi() {
  const auto library = mpi_library();
  if (!library)
    throw core::InputError(
        "this sweetspot was built without MPI, which ranks need; install libopenmpi-dev and "
        "openmpi-bin (scripts/setup does) and build it again");
  return join_through(*library, "MPI");
}

}  // namespace sweetspot::collective
