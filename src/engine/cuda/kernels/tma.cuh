#pragma once
#include <cuda.h>

#include <cstdint>

#include "engine/cuda/kernels/async_copy.cuh"

// Hopper's tensor memory accelerator: one thread starts the copy of a whole tile from memory to
// shared memory, and a barrier in shared memory counts its bytes. What lies outside of the tensor
// arrives as zeros.
namespace sweetspot::engine::cuda {

// A phase of the barrier ends with this many arrivals and all expected bytes.
__device__ inline void barrier_start(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
// Makes started barriers visible to the accelerator; a block barrier must follow.
__device__ inline void barriers_started() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ inline void arrive_expecting(std::uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
// Until the phase of this parity has ended.
__device__ inline void await(std::uint32_t barrier, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nAGAIN:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@!p bra AGAIN;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Boxes of a matrix and of a tensor of three dimensions, the innermost coordinate first.
__device__ inline void copy_box(std::uint32_t to, const CUtensorMap& map, std::uint32_t barrier,
                                int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}
__device__ inline void copy_box(std::uint32_t to, const CUtensorMap& map, std::uint32_t barrier,
                                int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}
// Channels from c on of successive positions of the map's rectangle, from (x, y) of sample n on,
// each moved by one tap's offset.
__device__ inline void copy_patches(std::uint32_t to, const CUtensorMap& map, std::uint32_t barrier,
                                    int c, int x, int y, int n, int offset_x, int offset_y) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(c), "r"(x), "r"(y), "r"(n),
      "h"(static_cast<std::uint16_t>(offset_x)), "h"(static_cast<std::uint16_t>(offset_y))
      : "memory");
}

}  // namespace sweetspot::engine::cuda
