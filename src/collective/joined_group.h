#pragma once
#include <filesystem>
#include <memory>

#include "collective/group.h"

namespace sweetspot::collective {

// Ranks that are processes, started by a launcher and joined over MPI. finish() must be called at
// the end: a rank that exits without it ends the others.
class JoinedGroup : public Group {
 public:
  virtual void finish() = 0;  // every rank
};

// libsweetspot_mpi.so, next to the program or in its installed location. InputError if sweetspot
// was built without MPI.
std::filesystem::path mpi_library();

// How all-reduces are done: by messages, or, if all ranks are on one machine, in shared memory.
enum class Sums { messages, fastest };

// Joins the ranks that were started with this one, once per process. InputError if the library
// cannot be loaded, MachineError if MPI fails.
std::unique_ptr<JoinedGroup> join_mpi(const std::filesystem::path& library,
                                      Sums sums = Sums::fastest);

}  // namespace sweetspot::collective
