#include "workload/native/ladder_speeds.h"

#include <algorithm>
#include <chrono>

namespace sweetspot::workload::native {
namespace {

using Clock = std::chrono::steady_clock;

// The minimum time of an update: contention only adds to it, so two similar minima are no accident.
// nullopt once stopped.
std::optional<double> update_seconds(Epochs& epochs, std::int64_t batch) {
  constexpr int most = 40;
  constexpr double alike = 1.03, enough_seconds = 0.02, most_seconds = 1;
  epochs.set_batch(batch);
  epochs.start(0);
  std::vector<double> times;
  double seconds = 0;
  for (int i = 0; i < most && seconds < most_seconds; ++i) {
    const auto begin = Clock::now();
    const auto updates = epochs.next(1);
    // An epoch's end: the last batch may be smaller.
    if (updates.empty() || updates.front().samples < batch) break;
    const double took = core::Seconds(Clock::now() - begin).count();
    if (i == 0) continue;  // its memory was cold
    times.push_back(took), seconds += took;
    std::ranges::sort(times);
    if (times.size() > 2 && times[1] < alike * times[0] && seconds >= enough_seconds) break;
  }
  if (times.empty()) return std::nullopt;
  return times.front();
}

}  // namespace

std::vector<convergence::BatchSpeed> ladder_speeds(Epochs& epochs, const Options& options) {
  constexpr double noticeable = 1.02;
  const engine::Checkpoint start = epochs.trainer().checkpoint();
  std::vector<convergence::BatchSpeed> speeds;
  double best = 0;
  int no_faster = 0;
  for (const std::int64_t batch : options.batches()) {
    if (no_faster == 2) break;
    const std::optional<double> seconds = update_seconds(epochs, batch);
    if (!seconds) break;
    speeds.push_back({batch, static_cast<double>(batch) / *seconds});
    no_faster = speeds.back().samples_per_second > noticeable * best ? 0 : no_faster + 1;
    best = std::max(best, speeds.back().samples_per_second);
  }
  epochs.trainer().restore(start);
  return speeds;
}

}  // namespace sweetspot::workload::native
