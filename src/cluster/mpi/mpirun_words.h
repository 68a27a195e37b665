#pragma once
#include <optional>
#include <string>

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

}  // namespace sweetspot::cluster::mpi
