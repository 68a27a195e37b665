#include "cluster/mpi/mpirun_words.h"

#include <cstdio>

namespace sweetspot::cluster::mpi {
namespace {

// Open MPI's rules have 74 dashes.
bool is_rule(const std::string& line) {
  return line.size() >= 70 && line.find_first_not_of('-') == std::string::npos;
}

// They repeat that a rank failed, which the rank itself has reported.
constexpr const char* repetitions[] = {"Primary job  terminated normally",
                                       "exited with non-zero status", "MPI_ABORT was invoked",
                                       "ended prematurely and may have crashed"};

}  // namespace

std::optional<std::string> MpirunWords::line(const std::string& line) {
  if (is_rule(line)) {
    if (inside_) end_block();
    inside_ = !inside_;
    return std::nullopt;
  }
  if (line.starts_with("mpirun: Forwarding signal")) return std::nullopt;
  if (!inside_) return line;
  if (!line.empty()) block_ += (block_.empty() ? "" : " ") + line;
  return std::nullopt;
}

void MpirunWords::end_block() {
  const std::string block = std::move(block_);
  block_.clear();
  LostRank lost;
  if (const auto at = block.find("process rank "); at != std::string::npos)
    if (std::sscanf(block.c_str() + at,
                    "process rank %d with PID %*d on node %*s exited on signal %d", &lost.rank,
                    &lost.signal) == 2) {
      if (!lost_) lost_ = lost;
      return;
    }
  for (const char* words : repetitions)
    if (block.find(words) != std::string::npos) return;
  if (complaint_.empty()) complaint_ = block;
}

}  // namespace sweetspot::cluster::mpi
