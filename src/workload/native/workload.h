#pragma once
#include <memory>

#include "workload/checkpoint_branches.h"
#include "workload/native/train.h"
#include "workload/training.h"
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

// The run's model on its data, trained completely at any setting: every sample of an epoch is used,
// including the last, smaller batch unless the run drops it. The setting decides batch,
// accumulation, workers, prefetch, learning rate and seed.
std::unique_ptr<Training> make_training(Run run);

// Branches of the run's model on its data. The checkpoint is `epochs` after the run's first weights
// (or those of --load), trained with the run's batch, including optimizer state. InputError on a
// GPU.
std::unique_ptr<Branching> make_branching(Run run, int epochs);

}  // namespace sweetspot::workload::native
