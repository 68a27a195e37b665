#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "study/loop.h"
#include "sweep/queue_claims.h"
#include "workload/training.h"

namespace sweetspot::sweep {

struct SweepOptions {
  std::vector<trial::Setting> points{};
  std::vector<std::uint64_t> seeds{};  // each point with each of them; empty: with its own
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

// How a sweep ended.
struct SweepEnd {
  std::optional<trial::End> cut_short;
  std::string error;                   // of the store or the device
  std::optional<advise::Doubt> doubt;  // nothing shows that the program uses its batch
  std::size_t planned = 0;             // trials
};
advise::Answer answered(const SweepEnd& end, std::span<const trial::Trial> trials);

// Every point, as often as requested, minus what the store already has; points of a workload that
// opens sessions side by side are interleaved in rounds. A point that cannot fit or does not exist
// (more samples than the data set has, or than a program seems to use) is saved as refused, with
// the reason. A program that does not use its batch ends it, with a doubt as its answer.
study::Result sweep(workload::Workload& workload, store::Writer& writer,
                    const SweepOptions& options, study::Observer& observer,
                    const std::atomic<int>& stop);

// The same with trials that train this many epochs, rather than sample steps.
study::Result sweep(workload::Training& training, int epochs, store::Writer& writer,
                    const SweepOptions& options, study::Observer& observer,
                    const std::atomic<int>& stop);

// The same for a study that other processes sweep too: claims free points, one at a time, until all
// are done. The process that notices the end concludes the study, from the trials of all.
study::Result sweep(workload::Workload& workload, const Shared& shared, const SweepOptions& options,
                    study::Observer& observer, const std::atomic<int>& stop);
study::Result sweep(workload::Training& training, int epochs, const Shared& shared,
                    const SweepOptions& options, study::Observer& observer,
                    const std::atomic<int>& stop);

}  // namespace sweetspot::sweep
