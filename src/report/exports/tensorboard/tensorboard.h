#pragma once
#include <filesystem>
#include <string>

#include "report/answer.h"

namespace sweetspot::report::tensorboard {

// The event file of one trial: its setting for the HParams view, its results, its steps, its epochs
// and its readings as scalars.
std::string trial_events(const trial::Trial& trial);

// Event files for TensorBoard below `folder`: study-N/ with one run for each trial. Writing them
// again replaces them. The trials' raw steps are taken along where they are known. Gives the number
// of runs; MachineError names the file.
std::size_t write(const std::filesystem::path& folder, const Answer& answer);

}  // namespace sweetspot::report::tensorboard
