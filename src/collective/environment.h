#pragma once
#include <cstdlib>
#include <optional>

namespace sweetspot::collective {

// A launcher's variable, if it is a number of 1 or more.
inline std::optional<int> positive_in(const char* variable) {
  const char* text = std::getenv(variable);
  const int number = text ? std::atoi(text) : 0;
  return number > 0 ? std::optional(number) : std::nullopt;
}

// This process's rank on its machine, from the launchers' variables; 0 without any.
inline int local_rank() {
  for (const char* variable :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK"})
    if (const char* text = std::getenv(variable)) return std::atoi(text);
  return 0;
}

}  // namespace sweetspot::collective
