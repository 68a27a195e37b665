#pragma once
#include <memory>
#include <vector>

#include "collective/group.h"

namespace sweetspot::collective {

// Ranks that are threads of this process, one group for each of them: for tests, and the reference
// that the others are held to.
std::vector<std::unique_ptr<Group>> thread_groups(int ranks);

}  // namespace sweetspot::collective
