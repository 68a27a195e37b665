#include "collective/launcher.h"

#include <cstdlib>

namespace sweetspot::collective {
namespace {

// A launcher's variable, if it is a number of 1 or more.
std::optional<int> positive_in(const char* variable) {
  const char* text = std::getenv(variable);
  const int number = text ? std::atoi(text) : 0;
  return number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

int local_rank() {
  for (const char* variable :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK"})
    if (const char* text = std::getenv(variable)) return std::atoi(text);
  return 0;
}

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

std::optional<int> torchrun_ranks() {
  for (const char* variable : {"RANK", "MASTER_ADDR", "MASTER_PORT"})
    if (!std::getenv(variable)) return std::nullopt;
  const auto ranks = positive_in("WORLD_SIZE");
  return ranks.value_or(1) > 1 ? ranks : std::nullopt;
}

}  // namespace sweetspot::collective
