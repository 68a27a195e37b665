#pragma once
#include <cstdlib>
#include <optional>

namespace sweetspot::collective {

// What a launcher said in a variable, where it is a number of 1 or more.
inline std::optional<int> positive_in(const char* variable) {
  const char* text = std::getenv(variable);
  const int number = text ? std::atoi(text) : 0;
  return number > 0 ? std::optional(number) : std::nullopt;
}

// Which of its machine's ranks this process is, as the launchers say; 0 where none does.
inline int local_rank() {
  for (const char* variable :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK"})
    if (const char* text = std::getenv(variable)) return std::atoi(text);
  return 0;
}

}  // namespace sweetspot::collective
