#pragma once
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sweetspot::cluster::mpi {

// mpirun's report of a killed rank.
struct LostRank {
  int rank = 0;
  int signal = 0;
};

// Separates mpirun's own messages, in blocks between lines of dashes, from the ranks' output.
class MpirunWords {
 public:
  // A line of the ranks; nullopt for one of mpirun's own.
  std::optional<std::string> line(const std::string& line);

  const std::optional<LostRank>& lost() const { return lost_; }
  // Its other messages, in one line; empty if they only say that a rank failed.
  const std::string& complaint() const { return complaint_; }

 private:
  void end_block();

  bool inside_ = false;
  std::string block_, complaint_;
  std::optional<LostRank> lost_;
};

// Runs a command as this many ranks on this machine, with mpirun, to their end, and returns its
// exit code. Their stdout goes to ours, and their stderr to `say`. Once `stop` is not 0 they are
// sent SIGUSR1, which mpirun forwards. InputError without mpirun; MachineError, which names it, for
// a rank that was killed: then the others are ended.
int run_local_ranks(const std::vector<std::string>& command, int ranks,
                    const std::atomic<int>& stop,
                    const std::function<void(const std::string&)>& say);

}  // namespace sweetspot::cluster::mpi
