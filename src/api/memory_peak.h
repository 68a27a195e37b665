#pragma once
#include <optional>

#include "core/units.h"

namespace sweetspot::api {

// Starts the peak anew, after what an earlier trial let go of is given back to the system. False
// where the kernel does not allow it: then the peak says nothing about one trial.
bool restart_resident_peak();
// The most memory this process has had since then.
std::optional<core::Bytes> resident_peak();
std::optional<core::Bytes> resident_now();

}  // namespace sweetspot::api
