#pragma once
#include <cstddef>
#include <cstdint>

namespace sweetspot::data {

// Heap allocations of the whole test program so far, by any thread.
std::uint64_t allocation_count();

// The largest single allocation of this scope.
class LargestAllocation {
 public:
  LargestAllocation();
  std::size_t bytes() const;
};

}  // namespace sweetspot::data
