#pragma once
#include <functional>
#include <string>
#include <vector>

#include "cli/flags/native_flags.h"
#include "collective/group.h"
#include "workload/native/options.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sweetspot::cli {

class Output;

// How many processes train together, and how.
struct RankFlags {
  int ranks = 0;  // 0: as many as were started, by mpirun, srun or torchrun
  bool asynchronous = false;
  core::Bytes bucket_bytes = workload::native::RankOptions().bucket_bytes;
  const CLI::Option* threads = nullptr;  // --threads, where the command has it
};
void add_ranks_flag(CLI::App& app, RankFlags& flags);  // --ranks alone
void add_rank_flags(CLI::App& app, RankFlags& flags);  // behind those of the workload
void add_asynchronous_flags(CLI::App& app, RankFlags& flags);

// That are started on this machine at most: ranks that take turns on a core still train, slowly;
// hundreds of them only fill the memory.
int most_ranks_here();

// What a process does about ranks: `check` sees a group of as many ranks that is none, before they
// are started; `work` is done by each of them, or alone, with none.
struct RankedCommand {
  std::vector<std::string> given;  // all arguments: the ranks run them too
  std::function<void(collective::Group&)> check;
  std::function<int(collective::Group*)> work;
};
// Starts the ranks and waits for them, is one of them, or works alone. Returns the exit code.
int run_ranks(const RankFlags& flags, const RankedCommand& command);

// The flags of one of these ranks, or as they are where there is no group: its device, its threads,
// which are its share of this machine unless they were given, and the group. InputError for what
// ranks cannot.
NativeFlags flags_of_rank(const NativeFlags& flags, const RankFlags& ranks,
                          collective::Group* group);

// InputError for ranks on GPUs, which only train.
void require_cpu(const workload::native::Options& options);

// Of ranks that train on GPUs, one each: they meet once more, through NCCL. Nothing where they
// train on CPUs. A rank alone is one only where --ranks 1 says so.
std::unique_ptr<collective::Group> gpu_group(const workload::native::Options& options,
                                             const RankFlags& ranks);

}  // namespace sweetspot::cli
