#pragma once
#include "report/exports/tensorboard/event_file.h"
#include "report/shown_study.h"

namespace sweetspot::report::tensorboard {

// The tags of the scalars that the HParams view shows next to a trial's setting.
namespace metric {
constexpr const char* samples_per_second = "samples_per_second";
constexpr const char* step_seconds = "step_seconds";
constexpr const char* memory_bytes = "memory_bytes";
constexpr const char* energy_joules = "energy_joules";
constexpr const char* joules_per_sample = "joules_per_sample";
constexpr const char* test_accuracy = "test_accuracy";
}  // namespace metric

// What the runs of a study have in common: its hyperparameters and metrics. For a study that has
// trials.
void add_experiment(Events& events, const ShownStudy& study, double at_unix_seconds);
// The setting of a trial, and its outcome. Trials of one setting are one session group.
void add_session(Events& events, const trial::Trial& trial);

}  // namespace sweetspot::report::tensorboard
