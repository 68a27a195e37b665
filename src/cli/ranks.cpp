#include "cli/ranks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/exit_codes.h"
#include "cli/flags/flags.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cluster/mpi/local_ranks.h"
#include "collective/joined_group.h"
#include "collective/launcher.h"
#include "collective/threads/threads.h"
#include "core/error.h"
#include "core/text.h"
#include "probe/proc/host.h"
#include "probe/proc/own_use.h"

namespace sweetspot::cli {
namespace {

constexpr std::int64_t most_ranks = 65'536;

// Ranks that somebody else started, including this process; nullptr if it is alone.
std::unique_ptr<collective::JoinedGroup> joined() {
  if (const auto ranks = collective::started_ranks())
    return *ranks > 1 ? collective::join_mpi(collective::mpi_library()) : nullptr;
  if (const auto tasks = collective::unconnected_tasks())
    throw core::InputError(fmt::format(
        "srun started {} tasks and told none of the others; add --mpi=pmix to it, or what srun "
        "--mpi=list has of pmix and pmi2",
        *tasks));
  if (const auto ranks = collective::torchrun_ranks())
    throw core::InputError(
        fmt::format("torchrun started {0} ranks, and sweetspot's meet over MPI; use mpirun -n {0} "
                    "in its place, "
                    "or --ranks {0} on one machine",
                    *ranks));
  return nullptr;
}

int start_ranks(int ranks, const RankedCommand& command) {
  const int cores = probe::proc::usable_cores();
  if (ranks > most_ranks_here())
    throw core::InputError(fmt::format(
        "{} ranks would take turns on {} core{}; ask for at most {} here, or start them on several "
        "machines with mpirun or srun",
        ranks, cores, cores == 1 ? "" : "s", most_ranks_here()));
  collective::mpi_library();  // throws if there is none
  command.check(*collective::thread_groups(ranks).front());
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string()};
  words.insert(words.end(), command.given.begin(), command.given.end());
  const StopOnSignal stop;
  const int code = cluster::mpi::run_local_ranks(
      words, ranks, StopOnSignal::stopped(), [](const std::string& line) { Output::talk(line); });
  return StopOnSignal::stopped() != 0 ? signal_exit + StopOnSignal::stopped() : code;
}

// A rank that fails reports it and ends the others, which would wait forever.
int be_rank(collective::JoinedGroup& group, const RankedCommand& command) {
  probe::proc::count_as_own(getppid());  // the launcher and its other ranks are not contention
  const auto fail = [&](int exit_code, const std::string& reason) {
    Output::talk(fmt::format("sweetspot: rank {}: {}", group.rank(), reason));
    group.abandon(exit_code, reason);
    return exit_code;
  };
  try {
    const int code = command.work(&group);
    group.finish();
    return group.rank() == 0 ? code : 0;
  } catch (const core::Error& error) {
    return fail(error.exit_code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(1, "its machine has no memory left; use a smaller batch or fewer ranks");
  } catch (const std::exception& error) {
    return fail(1, fmt::format("internal error ({})", error.what()));
  }
}

}  // namespace

void add_ranks_flag(CLI::App& app, RankFlags& flags) {
  whole_flag(app, "--ranks", flags.ranks, {1, most_ranks},
             "processes that train together on this machine, each on its part of every batch; not "
             "needed under mpirun or srun")
      ->default_str("");
}

void add_rank_flags(CLI::App& app, RankFlags& flags) {
  add_ranks_flag(app, flags);
  flags.threads = app.get_option_no_throw("--threads");
  text_flag(app, "--bucket", "SIZE",
            "size of one all-reduce of gradients [1MiB; on GPUs an eighth of all gradients, from "
            "1MiB to 25MiB]",
            [&flags](const std::string& text) {
              flags.bucket_bytes = core::parse_bytes(text, "--bucket");
            });
}

void add_asynchronous_flags(CLI::App& app, RankFlags& flags) {
  app.add_flag("--asynchronous", flags.asynchronous,
               "ranks update shared weights with their own batches, without waiting");
}

int most_ranks_here() {
  constexpr int most_ranks_a_core = 4;
  return most_ranks_a_core * probe::proc::usable_cores();
}

int run_ranks(const RankFlags& flags, const RankedCommand& command) {
  const std::unique_ptr<collective::JoinedGroup> group = joined();
  if (!group) {
    if (flags.ranks > 1) return start_ranks(flags.ranks, command);
    if (flags.asynchronous)
      throw core::InputError(
          "one rank alone updates nothing asynchronously; add --ranks 2 or more");
    return command.work(nullptr);
  }
  return be_rank(*group, {command.given, command.check, [&](collective::Group* all) {
                            if (flags.ranks != 0 && flags.ranks != all->size())
                              throw core::InputError(fmt::format(
                                  "{} ranks were started and --ranks asks for {}; leave it out",
                                  all->size(), flags.ranks));
                            return command.work(all);
                          }});
}

NativeFlags flags_of_rank(const NativeFlags& flags, const RankFlags& ranks,
                          collective::Group* group) {
  NativeFlags of_rank = flags;
  const bool on_gpus = trial::on_gpu(of_rank.device);
  const core::Bytes usual = on_gpus ? 0 : workload::native::RankOptions().bucket_bytes;
  of_rank.options.ranks = {group, ranks.asynchronous, ranks.bucket_bytes.value_or(usual),
                           &StopOnSignal::stopped()};
  if (!group) return of_rank;
  if (of_rank.device == "auto") of_rank.device = "cpu";
  // A launcher may show each rank its own GPUs only.
  if (const std::size_t gpus = engine::cuda::available().devices.size();
      of_rank.device == "cuda" && gpus > 0)
    of_rank.device =
        fmt::format("cuda:{}", static_cast<std::size_t>(collective::local_rank()) % gpus);
  if (of_rank.precision == "auto")
    throw core::InputError("--precision auto is one process's choice; name one for --ranks");
  if (!on_gpus && (!ranks.threads || ranks.threads->count() == 0))
    of_rank.options.threads = std::max(probe::proc::usable_cores() / group->local_size(), 1);
  return of_rank;
}

JoinedGpus join_gpus(const RankFlags& flags, const workload::native::Device& device,
                     workload::native::RankOptions& options) {
  JoinedGpus joined;
  if (!device.gpu) return joined;
  if (!options.group && flags.ranks == 1) {
    joined.alone = collective::alone();
    options.group = joined.alone.get();
  }
  if (!options.group) return joined;
  joined.gpus = collective::join_gpus(*options.group, *device.gpu);
  options.on_gpus = joined.gpus.group.get(), options.sharing_gpu = joined.gpus.sharing;
  options.sums = joined.gpus.why_not_nccl.empty() ? workload::native::GpuSums::nccl
                                                  : workload::native::GpuSums::host_memory;
  if (options.is_first() && !joined.gpus.why_not_nccl.empty())
    Output::talk(fmt::format("gradients are summed through host memory, not by NCCL: {}",
                             joined.gpus.why_not_nccl));
  return joined;
}

}  // namespace sweetspot::cli
