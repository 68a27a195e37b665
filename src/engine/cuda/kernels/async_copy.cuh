#pragma once
#include <cstdint>

// Copies from memory to shared memory that run while the thread goes on, in groups.
namespace sweetspot::engine::cuda {

__device__ inline std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}
// Sixteen bytes, or zeros.
__device__ inline void copy16(std::uint32_t to, const void* from, bool real) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
               "r"(real ? 16 : 0)
               : "memory");
}
__device__ inline void copies_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits until at most the last `left` groups are pending.
template <int left>
__device__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

}  // namespace sweetspot::engine::cuda
