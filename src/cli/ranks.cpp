#include "cli/ranks.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/exit_codes.h"
#include "cli/flags/flags.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cluster/mpi/local_ranks.h"
#include "collective/mpi/mpi.h"
#include "collective/threads/threads.h"
#include "core/error.h"
#include "core/text.h"
#include "probe/proc/host.h"

namespace sweetspot::cli {
namespace {

constexpr std::int64_t most_ranks = 65'536;

// torchrun gives each process its place and an address to meet at, which MPI cannot use.
bool started_by_torchrun() {
  const char* size = std::getenv("WORLD_SIZE");
  return size && std::atoi(size) > 1 && std::getenv("MASTER_ADDR") && std::getenv("RANK");
}

int start_ranks(int ranks, const RankedCommand& command) {
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
int be_rank(collective::MpiGroup& group, const RankedCommand& command) {
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
             "that mpirun or srun started "
             "need no flag")
      ->default_str("");
}

void add_rank_flags(CLI::App& app, RankFlags& flags) {
  add_ranks_flag(app, flags);
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

int run_ranks(const RankFlags& flags, const RankedCommand& command) {
  const auto started = collective::started_ranks();
  if (!started && started_by_torchrun())
    throw core::InputError(
        "ranks meet through MPI, and torchrun's variables do not tell it how; start sweetspot with "
        "mpirun or srun, or give --ranks without torchrun");
  if (started.value_or(1) == 1) {
    if (flags.ranks > 1) return start_ranks(flags.ranks, command);
    if (flags.asynchronous)
      throw core::InputError(
          "one rank alone updates nothing asynchronously; add --ranks 2 or more");
    return command.work(nullptr);
  }
  const auto group = collective::join_mpi();
  return be_rank(*group, {command.given, command.check, [&](collective::Group* all) {
                            if (flags.ranks != 0 && flags.ranks != all->size())
                              throw core::InputError(fmt::format(
                                  "{} ranks were started and --ranks asks for {}; leave it out",
                                  all->size(), flags.ranks));
                            return command.work(all);
                          }});
}

int threads_of_rank(const collective::Group& group) {
  return std::max(probe::proc::usable_cores() / group.local_size(), 1);
}

}  // namespace sweetspot::cli
