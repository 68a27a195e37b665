#pragma once
#include <functional>

#include "trial/trial.h"

namespace sweetspot::measure {

constexpr double watch_interval_seconds = 0.1;  // a watcher is told no more often
constexpr int give_up = 2;                      // of `stop`: end this trial at once

// Runs a trial's action; what it throws becomes the trial's outcome, with the reason as its note.
// Only a DeviceLost passes through: it says nothing of the trial.
void run_guarded(trial::Trial& trial, const std::function<void()>& action);

}  // namespace sweetspot::measure
