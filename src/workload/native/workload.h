#pragma once
#include <memory>

#include "workload/native/train.h"
#include "workload/workload.h"

namespace sweetspot::workload::native {

// The run's model on its data, open to any setting. The data set is opened once. Sessions that are
// open at the same time share one trainer per precision and seed, whose weights no step changes, so
// that no trial depends on another. Sessions skip an epoch's last, smaller batch: every step is
// whole batches. The setting overrides the run's own batch, accumulation, precision, workers,
// prefetch, learning rate and seed.
std::unique_ptr<Workload> make_workload(Run run);

// One session of such a workload, with its own trainer; `run` must outlive it.
std::unique_ptr<Session> open_session(const Run& run, const trial::Setting& setting);

// The run's options at this setting, for sessions. InputError for a setting that the engine cannot
// run.
Options options_at(const Run& run, const trial::Setting& setting);

// The same, for a batch that does not exceed the data set.
Options session_options_at(const Run& run, const trial::Setting& setting);

// For a whole training run: it evaluates, and trains on the last, smaller batch, if `run` does.
Options training_options_at(const Run& run, const trial::Setting& setting);

// The inverse: these options as a setting.
trial::Setting setting_of(const Options& options);

}  // namespace sweetspot::workload::native
