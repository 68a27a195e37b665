#pragma once
#include <optional>
#include <string>

namespace sweetspot::cluster::mpi {

// How mpirun says that a rank was killed.
struct LostRank {
  int rank = 0;
  int signal = 0;
};

// Takes what mpirun says itself, in blocks between lines of dashes, out of what the ranks say.
class MpirunWords {
 public:
  // A line of the ranks; nothing for one of mpirun's own.
  std::optional<std::string> line(const std::string& line);

  const std::optional<LostRank>& lost() const { return lost_; }
  // What else it said, in one line; empty where that is only that somebody ended badly.
  const std::string& complaint() const { return complaint_; }

 private:
  void end_block();

  bool inside_ = false;
  std::string block_, complaint_;
  std::optional<LostRank> lost_;
};

}  // namespace sweetspot::cluster::mpi
