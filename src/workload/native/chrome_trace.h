#pragma once
#include <span>
#include <string>

#include "workload/native/profile.h"

namespace sweetspot::workload::native {

// The profiles in Chrome's trace format, for chrome://tracing and Perfetto: one process per
// setting, one thread per thread, each step with its phases and these with their operations. An
// operation runs once per sample, interleaved with others: it is drawn as one piece with their
// total length.
std::string chrome_trace(std::span<const Profile> profiles);

}  // namespace sweetspot::workload::native
