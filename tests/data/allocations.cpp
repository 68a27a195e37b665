#include "data/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::uint64_t> count{0};
std::atomic<std::size_t> largest{0};

}  // namespace

// The array and nothrow forms of the library call these two.
void* operator new(std::size_t size) {
  ++count;
  for (std::size_t before = largest;
       before < size && !largest.compare_exchange_weak(before, size);) {
  }
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sweetspot::data {

std::uint64_t allocation_count() { return count; }
LargestAllocation::LargestAllocation() { largest = 0; }
std::size_t LargestAllocation::bytes() const { return largest; }

}  // namespace sweetspot::data
