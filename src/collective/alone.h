#pragma once
#include <memory>

#include "collective/group.h"

namespace sweetspot::collective {

// The only rank: every sum is its own.
std::unique_ptr<Group> alone();

}  // namespace sweetspot::collective
