#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "core/units.h"
#include "stats/experiment.h"
#include "telemetry/machine.h"
#include "trial/trial.h"
#include "workload/workload.h"

namespace sweetspot::measure {

struct MeasureOptions {
  double precision =
      experiment::steady_share;  // half of the 95% interval of throughput, as a share
  std::int64_t max_steps = 10000;
  core::Seconds max_time{3};  // of sampling, excluding warm-up
  // This many weight updates, regardless of precision.
  std::optional<std::int64_t> updates{};
  core::Seconds max_warm_up{3};
  int min_steps = stats::min_batches_for_interval;  // sampled ones
  // Disturbances of a machine last for about a tenth of a second: fewer steps may miss them, or see
  // nothing else, without noticing.
  core::Seconds min_time{0.5};
  // Steps that agree, as on a GPU, were not disturbed: a few of them over this time are enough.
  core::Seconds steady_time{0.2};
  // A setting that matters is run again: the first measurement of varying steps takes no longer
  // than a restart would, and at least `min_time`. Small batches vary on a GPU and are rarely the
  // answer: there it takes at most half of that.
  bool first_look = false;
  // Also measures energy: a GPU's counter is coarse, so a reading takes at least one second.
  bool reads_energy = false;
};

// What a display may show while a trial runs; called between steps, at most ~10 times a second.
struct TrialProgress {
  const trial::Setting* setting;
  bool warming_up;
  std::int64_t steps;  // weight updates
  std::optional<trial::Interval> samples_per_second;
  // For a trial that trains: its epoch, the number of epochs, and the completed part of this one.
  int epoch = 0, epochs = 0;
  double epoch_share = 0;
  const workload::Waiting* waiting = nullptr;  // for the first step of a program
};
using Watch = std::function<void(const TrialProgress&)>;

// One trial: opens the setting, warms up until step times settle, samples until the interval is
// tight or a limit is reached, flags outliers, records contention, memory and proof of what ran.
// Failures of the workload are the outcome, not exceptions; only DeviceLost passes through, because
// a lost device says nothing about the setting.
trial::Trial measure(workload::Workload& workload, const trial::Setting& setting,
                     const MeasureOptions& options, const Watch& watch,
                     const workload::Until& until,
                     telemetry::Machine& machine = telemetry::this_machine());

}  // namespace sweetspot::measure
