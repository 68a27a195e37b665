#pragma once
#include <memory>
#include <vector>

#include "collective/group.h"

namespace sweetspot::collective {

// Ranks that are threads of this process, one group each: for tests, and the reference for the
// others.
std::vector<std::unique_ptr<Group>> thread_groups(int ranks);

// The only rank: every sum is its own.
std::unique_ptr<Group> alone();

}  // namespace sweetspot::collective
