#pragma once
#include <filesystem>
#include <string>

#include "report/shown_study.h"

namespace sweetspot::report::tensorboard {

// The event file of one trial: its setting for the HParams view, its results, its steps, its epochs
// and its readings as scalars.
std::string trial_events(const trial::Trial& trial);

// Event files for TensorBoard in `folder`: study-N/ with one run per trial. Writing them again
// replaces them. Includes the trials' raw steps if known. Returns the number of runs; MachineError
// names the file.
std::size_t write(const std::filesystem::path& folder, const ShownStudy& study);

}  // namespace sweetspot::report::tensorboard
