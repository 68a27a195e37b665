#pragma once
#include <filesystem>
#include <memory>
#include <optional>

#include "collective/group.h"

namespace sweetspot::collective {

// Whether something that speaks MPI started this process (mpirun, srun): how many ranks it started.
std::optional<int> started_ranks();

// libsweetspot_mpi.so, beside the program or where it is installed; nothing where it is not.
std::optional<std::filesystem::path> mpi_library();

// Joins the ranks that were started with this one, once in a process. InputError where sweetspot
// was built without MPI, MachineError where MPI fails. The group must be told finish() in the end:
// a rank that goes without ends the others.
class MpiGroup : public Group {
 public:
  virtual void finish() = 0;  // every rank
};
std::unique_ptr<MpiGroup> join_mpi();
std::unique_ptr<MpiGroup> join_mpi(const std::filesystem::path& library);

}  // namespace sweetspot::collective
