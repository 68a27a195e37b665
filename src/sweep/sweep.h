#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "advise/doubt.h"
#include "study/loop.h"
#include "sweep/claims.h"
#include "telemetry/machine.h"
#include "workload/training.h"

namespace sweetspot::sweep {

struct SweepOptions {
  std::vector<trial::Setting> points;
  std::vector<std::uint64_t> seeds;  // each point with each of them; empty: with its own
  int repeat = 1;
  std::uint64_t seed = 1000;
  search::Limits limits;  // of them, those of memory count
  study::LoopOptions loop;
  telemetry::Machine* machine = nullptr;  // else this one
};

// The order of one round: every point once, shuffled anew in each round, so that a drift of the
// machine does not look like an effect of the batch.
std::vector<std::size_t> round_order(std::size_t points, int round, std::uint64_t seed);

// Every trial that is asked for, in order: each point as often as it is repeated, with its seed.
std::vector<trial::Setting> settings_of(const SweepOptions& options);

struct SweepResult {
  study::End end = study::End::none;
  std::string message;  // of the store's or the device's failure
  std::vector<trial::Trial> trials;
  std::size_t resumed = 0, planned = 0;
  core::Seconds spent{0};
  std::optional<advise::Doubt> doubt;  // nothing shows that the program uses its batch
};

// Every point, as often as asked, less what the store has already; points of a workload that opens
// side by side take turns in rounds. A point that cannot fit or does not exist (more samples than
// the data set has, or than a program seems to use) is kept as refused, with the reason. A program
// that is found not to use its batch ends it.
SweepResult sweep(workload::Workload& workload, store::Writer& writer, const SweepOptions& options,
                  study::Observer& observer, const std::atomic<int>& stop);

// The same with trials that train so many epochs, rather than sample steps.
SweepResult sweep(workload::Training& training, int epochs, store::Writer& writer,
                  const SweepOptions& options, study::Observer& observer,
                  const std::atomic<int>& stop);

// The same of a study that other processes sweep too: takes points that nobody has, one at a time,
// until all are done. Whoever sees that concludes it, from the trials of all.
SweepResult sweep(workload::Workload& workload, const Shared& shared, const SweepOptions& options,
                  study::Observer& observer, const std::atomic<int>& stop);
SweepResult sweep(workload::Training& training, int epochs, const Shared& shared,
                  const SweepOptions& options, study::Observer& observer,
                  const std::atomic<int>& stop);

}  // namespace sweetspot::sweep
