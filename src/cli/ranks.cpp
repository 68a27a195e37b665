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
#include "collective/environment.h"
#include "collective/gloo/gloo.h"
#include "collective/mpi/mpi.h"
#include "collective/nccl/nccl.h"
#include "collective/threads/threads.h"
#include "core/error.h"
#include "core/text.h"
#include "probe/proc/host.h"
#include "probe/proc/own_use.h"

namespace sweetspot::cli {
namespace {

constexpr std::int64_t most_ranks = 65'536;

// Those that somebody else started, with this process among them; nullptr where it is alone.
std::unique_ptr<collective::JoinedGroup> joined() {
  if (const auto ranks = collective::started_ranks())
    return *ranks > 1 ? collective::join_mpi() : nullptr;
  if (const auto ranks = collective::torchrun_ranks())
    return *ranks > 1 ? collective::join_gloo() : nullptr;
  if (const auto tasks = collective::unconnected_tasks())
    throw core::InputError(fmt::format(
        "srun started {} tasks and told none of the others; add --mpi=pmix to it, or what srun "
        "--mpi=list has of pmix and pmi2",
        *tasks));
  return nullptr;
}

int start_ranks(int ranks, const RankedCommand& command) {
  const int cores = probe::proc::usable_cores();
  if (ranks > most_ranks_here())
    throw core::InputError(fmt::format(
        "{} ranks would take turns on {} core{}; ask for at most {} here, or start them on several "
        "machines with mpirun or srun",
        ranks, cores, cores == 1 ? "" : "s", most_ranks_here()));
  if (!collective::mpi_library()) collective::join_mpi();  // tells why not
  command.check(*collective::thread_groups(ranks).front());
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string()};
  words.insert(words.end(), command.given.begin(), command.given.end());
  const StopOnSignal stop;
  const int code = cluster::mpi::run_local_ranks(
      words, ranks, StopOnSignal::stopped(), [](const std::string& line) { Output::talk(line); });
  return StopOnSignal::stopped() != 0 ? signal_exit + StopOnSignal::stopped() : code;
}

// A rank that fails says so itself and ends the others: they wait for it in vain.
int be_rank(collective::JoinedGroup& group, const RankedCommand& command) {
  probe::proc::count_as_own(getppid());  // the launcher and its other ranks are no company
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
             "processes that work together on this machine, each on its part of every batch; those "
             "that mpirun, srun or torchrun "
             "started need no flag")
      ->default_str("");
}

void add_rank_flags(CLI::App& app, RankFlags& flags) {
  add_ranks_flag(app, flags);
  flags.threads = app.get_option_no_throw("--threads");
  text_flag(app, "--bucket", "SIZE", "gradients that ranks sum at once, such as 1MiB",
            [&flags](const std::string& text) {
              flags.bucket_bytes = core::parse_bytes(text, "--bucket");
            })
      ->default_str("1MiB");
}

void add_asynchronous_flags(CLI::App& app, RankFlags& flags) {
  app.add_flag("--asynchronous", flags.asynchronous,
               "ranks update shared weights with batches of their own, without waiting");
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
  of_rank.options.ranks = {group, ranks.asynchronous, ranks.bucket_bytes, &StopOnSignal::stopped()};
  if (!group) return of_rank;
  if (of_rank.device == "auto") of_rank.device = "cpu";
  if (of_rank.device == "cuda") {
    const auto gpus = static_cast<int>(engine::cuda::available().devices.size());
    if (gpus > 0 && group->local_size() > gpus)
      throw core::InputError(fmt::format(
          "{} ranks on this machine need a GPU each, and it has {}; ask for --ranks {}, or start "
          "them on several machines",
          group->local_size(), gpus, gpus));
    of_rank.device = fmt::format("cuda:{}", collective::local_rank());
  }
  if (of_rank.precision == "auto")
    throw core::InputError("--precision auto is one process's choice; name one for --ranks");
  if (!ranks.threads || ranks.threads->count() == 0)
    of_rank.options.threads = std::max(probe::proc::usable_cores() / group->local_size(), 1);
  return of_rank;
}

void require_cpu(const workload::native::Options& options) {
  if (options.ranks.group && options.device.gpu)
    throw core::InputError(
        "ranks on GPUs are trained and not measured so far; use --device cpu, train, or a program "
        "of yours: sweetspot tune -- torchrun …");
}

std::unique_ptr<collective::Group> gpu_group(const workload::native::Options& options,
                                             const RankFlags& ranks) {
  if (!options.device.gpu) return nullptr;
  if (options.ranks.group) return collective::join_nccl(*options.ranks.group, *options.device.gpu);
  if (ranks.ranks == 0) return nullptr;
  return collective::join_nccl(collective::make_nccl_id(), 0, 1, *options.device.gpu);
}

}  // namespace sweetspot::cli
