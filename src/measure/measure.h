#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "core/units.h"
#include "trial/trial.h"
#include "workload/workload.h"

namespace sweetspot::telemetry {
class Machine;
}
namespace sweetspot::measure {

struct MeasureOptions {
  double precision = 0.02;  // half-width of the 95% interval of throughput, as a share
  std::int64_t max_steps = 10000;
  core::Seconds max_time{3};  // of sampling, warm-up apart
  // So many weight updates, whatever is known before.
  std::optional<std::int64_t> updates{};
  core::Seconds max_warm_up{3};
  int min_steps = 16;  // sampled ones
  // A machine's disturbances last for a tenth of a second: fewer steps may miss them, or see
  // nothing else, and not know it.
  core::Seconds min_time{0.5};
  // Steps that agree, as a GPU's do, have seen none: a few of them over this time are enough.
  core::Seconds steady_time{0.2};
  // A setting that matters is run again: a first look at steps that vary takes no longer than it
  // would to begin once more, and no less than this. Small batches vary on a GPU and are seldom the
  // answer: there it takes no longer than half of this.
  bool first_look = false;
  core::Seconds least_look{1};
  // What a trial is for, besides speed: a GPU counts its energy coarsely, so that a reading takes a
  // second at least.
  bool reads_energy = false;
};

// What a display may show while a trial runs; called between steps, at most ~10 times a second.
struct Sight {
  const trial::Setting* setting;
  bool warming_up;
  std::int64_t steps;  // weight updates
  std::optional<trial::Interval> samples_per_second;
  // Of a trial that trains: its epoch, of how many, and how much of it is done.
  int epoch = 0, epochs = 0;
  double epoch_share = 0;
  const workload::Waiting* waiting = nullptr;  // for the first step of a program
};
using Watch = std::function<void(const Sight&)>;

// One trial: opens the setting, warms up until step times settle, samples until the interval is
// tight or a limit is reached, flags outliers, records contention, memory and proof of what ran.
// Never throws for what the workload does: that is the outcome; only a device that is lost is no
// trial at all, and its DeviceLost passes through. `stop`: 0 go on, 2 or more give up
// at once (outcome cancelled); a value of 1 lets this trial finish.
trial::Trial measure(workload::Workload& workload, const trial::Setting& setting,
                     const MeasureOptions& options, const Watch& watch,
                     const std::atomic<int>& stop);

// The same on a machine of the caller's.
trial::Trial measure(workload::Workload& workload, const trial::Setting& setting,
                     const MeasureOptions& options, const Watch& watch,
                     const std::atomic<int>& stop, telemetry::Machine& machine);

}  // namespace sweetspot::measure
