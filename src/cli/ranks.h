#pragma once
#include <functional>
#include <string>
#include <vector>

#include "collective/group.h"
#include "workload/native/options.h"

namespace CLI {
class App;
}

namespace sweetspot::cli {

class Output;

// How many processes train together, and how.
struct RankFlags {
  int ranks = 0;  // 0: as many as were started, by mpirun or srun
  bool asynchronous = false;
  core::Bytes bucket_bytes = workload::native::RankOptions().bucket_bytes;
};
void add_ranks_flag(CLI::App& app, RankFlags& flags);  // --ranks alone
void add_rank_flags(CLI::App& app, RankFlags& flags);
void add_asynchronous_flags(CLI::App& app, RankFlags& flags);

// What a process does about ranks: `check` sees a group of as many ranks that is none, before they
// are started; `work` is done by each of them, or alone, with none.
struct RankedCommand {
  std::vector<std::string> given;  // all arguments: the ranks run them too
  std::function<void(collective::Group&)> check;
  std::function<int(collective::Group*)> work;
};
// Starts the ranks and waits for them, is one of them, or works alone. Returns the exit code.
int run_ranks(const RankFlags& flags, const RankedCommand& command);

// Of ranks that share this machine, unless the user said otherwise.
int threads_of_rank(const collective::Group& group);

}  // namespace sweetspot::cli
