#pragma once
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "collective/group.h"

namespace sweetspot::tests {

// A kind of group that the contract is tested with.
struct Kind {
  std::string name;
  int ranks = 1;
  // Calls work on every rank, and returns when all are done.
  std::function<void(const std::function<void(collective::Group&)>& work)> run;
};

// Instead of its bytes, which differ from run to run.
inline void PrintTo(const Kind& kind, std::ostream* to) { *to << kind.name; }

}  // namespace sweetspot::tests
