#pragma once
#include <memory>

#include "workload/native/train.h"
#include "workload/workload.h"

namespace sweetspot::workload::native {

// The run's model on its data, open to any setting. The data set is opened once. Sessions that are
// open at the same time share one trainer for each precision and seed, whose weights no step
// changes, so that no trial depends on another. Sessions leave out an epoch's last, smaller batch:
// every step is whole batches. The run's own batch, accumulation, precision, workers, prefetch,
// learning rate and seed are the setting's to say.
std::unique_ptr<Workload> make_workload(Run run);

// One session of such a workload, with a trainer of its own; `run` must outlive it.
std::unique_ptr<Session> open_session(const Run& run, const trial::Setting& setting);

// The run's options at this setting, as sessions use them. InputError for a setting that the engine
// cannot run.
Options options_at(const Run& run, const trial::Setting& setting);

// The same, of a batch that the data set has samples for.
Options session_options_at(const Run& run, const trial::Setting& setting);

// As a whole training run uses them: it evaluates, and trains on the last and smaller batch, if
// `run` does.
Options training_options_at(const Run& run, const trial::Setting& setting);

// The other way round: what these options ask for, as a setting.
trial::Setting setting_of(const Options& options);

}  // namespace sweetspot::workload::native
