#pragma once
#include "collective/group.h"

namespace sweetspot::tests {

// The ranks that mpirun started, of which this process is one, or this process alone. Joined once.
collective::Group& host_ranks();

}  // namespace sweetspot::tests
