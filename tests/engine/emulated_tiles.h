#pragma once
#include "engine/cpu/kernels/bf16.h"

namespace sweetspot::engine::testing {

// The tile products with tiles in memory, for CPUs without AMX; null if the compiler has no
// AVX-512.
extern const cpu::TileProducts emulated_tiles;

}  // namespace sweetspot::engine::testing
