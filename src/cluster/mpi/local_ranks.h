#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace sweetspot::cluster::mpi {

// Runs a command as so many ranks on this machine, by mpirun, to their end, and returns its exit
// code. What they print on stdout goes to ours, and what they say is said by `say`. Once `stop` is
// not 0 they are sent SIGUSR1, which mpirun hands on. InputError where there is no mpirun,
// MachineError, which names it, for a rank that was killed: the others are ended then.
int run_local_ranks(const std::vector<std::string>& command, int ranks,
                    const std::atomic<int>& stop,
                    const std::function<void(const std::string&)>& say);

}  // namespace sweetspot::cluster::mpi
