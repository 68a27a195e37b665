#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace sweetspot::cluster::mpi {

// Runs a command as this many ranks on this machine, with mpirun, to their end, and returns its
// exit code. Their stdout goes to ours, and their stderr to `say`. Once `stop` is not 0 they are
// sent SIGUSR1, which mpirun forwards. InputError without mpirun; MachineError, which names it, for
// a rank that was killed: then the others are ended.
int run_local_ranks(const std::vector<std::string>& command, int ranks,
                    const std::atomic<int>& stop,
                    const std::function<void(const std::string&)>& say);

}  // namespace sweetspot::cluster::mpi
