#pragma once
#include "engine/cpu/kernels/bf16.h"

namespace sweetspot::engine::testing {

// The products on tiles over tiles in memory, for CPUs without AMX; null where the compiler has no
// AVX-512.
extern const cpu::TileProducts emulated_tiles;

}  // namespace sweetspot::engine::testing
