#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "advise/batch_use.h"
#include "study/loop.h"
#include "sweep/queue_claims.h"
#include "workload/training.h"

namespace sweetspot::sweep {

struct SweepOptions {
  std::vector<trial::Setting> points;
  std::vector<std::uint64_t> seeds;  // each point with each of them; empty: with its own
  int repeat = 1;
  std::uint64_t seed = 1000;
  search::Limits limits;  // only the memory limits count
  study::LoopOptions loop;
};

// The order of one round: every point once, shuffled differently in each round, so that machine
// drift does not look like an effect of the batch.
std::vector<std::size_t> round_order(std::size_t points, int round, std::uint64_t seed);

// Every requested trial, in order: each point as often as it is repeated, with its seed.
std::vector<trial::Setting> settings_of(const SweepOptions& options);

struct SweepResult {
  advise::CutShort end = advise::CutShort::no;
  std::string message;  // on a failure of the store or the device
  std::vector<trial::Trial> trials;
  std::size_t resumed = 0, planned = 0;
  core::Seconds spent{0};
  std::optional<advise::Doubt> doubt;  // nothing shows that the program uses its batch
};

// Every point, as often as requested, minus what the store already has; points of a workload that
// opens sessions side by side are interleaved in rounds. A point that cannot fit or does not exist
// (more samples than the data set has, or than a program seems to use) is saved as refused, with
// the reason. A program that does not use its batch ends it.
SweepResult sweep(workload::Workload& workload, store::Writer& writer, const SweepOptions& options,
                  study::Observer& observer, const std::atomic<int>& stop);

// The same with trials that train this many epochs, rather than sample steps.
SweepResult sweep(workload::Training& training, int epochs, store::Writer& writer,
                  const SweepOptions& options, study::Observer& observer,
                  const std::atomic<int>& stop);

// The same for a study that other processes sweep too: claims free points, one at a time, until all
// are done. The process that notices the end concludes the study, from the trials of all.
SweepResult sweep(workload::Workload& workload, const Shared& shared, const SweepOptions& options,
                  study::Observer& observer, const std::atomic<int>& stop);
SweepResult sweep(workload::Training& training, int epochs, const Shared& shared,
                  const SweepOptions& options, study::Observer& observer,
                  const std::atomic<int>& stop);

}  // namespace sweetspot::sweep
