#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/native_flags.h"
#include "collective/gpu/join.h"
#include "workload/native/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sweetspot::cli {

class Output;

// How many processes train together, and how.
struct RankFlags {
  int ranks = 0;  // 0: as many as were started, by mpirun or srun
  bool asynchronous = false;
  std::optional<core::Bytes> bucket_bytes;
  const CLI::Option* threads = nullptr;  // --threads, where the command has it
};
void add_ranks_flag(CLI::App& app, RankFlags& flags);  // --ranks alone
void add_rank_flags(CLI::App& app, RankFlags& flags);  // behind those of the workload
void add_asynchronous_flags(CLI::App& app, RankFlags& flags);

// The most that are started on this machine: ranks that take turns on a core still train, slowly;
// hundreds of them only fill the memory.
int most_ranks_here();

// How a command handles ranks: `check` gets a placeholder group of that size before they are
// started; `work` is done by each of them, or alone, without a group.
struct RankedCommand {
  std::vector<std::string> given;  // all arguments: the ranks run them too
  std::function<void(collective::Group&)> check;
  std::function<int(collective::Group*)> work;
};
// Starts the ranks and waits for them, acts as one of them, or works alone. Returns the exit code.
int run_ranks(const RankFlags& flags, const RankedCommand& command);

// The flags of one of these ranks, or unchanged without a group: its device, its threads, which are
// its share of this machine unless given, and the group. InputError for what ranks do not support.
NativeFlags flags_of_rank(const NativeFlags& flags, const RankFlags& ranks,
                          collective::Group* group);

// Of ranks that train on GPUs: what their options refer to.
struct JoinedGpus {
  std::unique_ptr<collective::Group> alone;  // the group of a single rank
  collective::GpuRanks gpus;
};
// Ranks on GPUs also join there, and the first one tells how they sum, unless by NCCL. Does nothing
// on CPUs, and for a process that is alone without --ranks 1.
JoinedGpus join_gpus(const RankFlags& flags, const workload::native::Device& device,
                     workload::native::RankOptions& options);

}  // namespace sweetspot::cli
