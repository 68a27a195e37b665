#pragma once
#include <optional>

#include "core/units.h"

namespace sweetspot::api {

// Resets the peak, after freed memory of an earlier trial is returned to the system. False if the
// kernel does not allow it: then the peak says nothing about one trial.
bool restart_peak_memory();
// The peak memory of this process since then.
std::optional<core::Bytes> peak_memory();
std::optional<core::Bytes> memory_now();

}  // namespace sweetspot::api
