#pragma once
#include <span>
#include <string>

#include "workload/native/profile.h"

namespace sweetspot::workload::native {

// The profiles in Chrome's trace format, for chrome://tracing and Perfetto: a process for each
// setting, a thread for each thread, and within each step its phases and within those its
// operations. An operation runs once for each sample, in turn with others: it is drawn as one piece
// as long as all of its runs together.
std::string chrome_trace(std::span<const Profile> profiles);

}  // namespace sweetspot::workload::native
