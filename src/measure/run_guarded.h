#pragma once
#include <functional>
#include <string>

#include "telemetry/machine.h"
#include "trial/trial.h"

namespace sweetspot::measure {

constexpr double watch_interval_seconds = 0.1;  // at most this often

// A trial that begins now.
trial::Trial begin_trial(const trial::Setting& setting, const std::string& device,
                         telemetry::Machine& machine);

// Runs a trial's action; an exception becomes the trial's outcome, with the reason as its note.
// Only DeviceLost passes through: it says nothing about the trial.
void run_guarded(trial::Trial& trial, const std::function<void()>& action);

}  // namespace sweetspot::measure
