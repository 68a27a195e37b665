// Products of bf16 on the tiles of AMX. As kernels.inl, everything is in an anonymous namespace and
// uses no template of the standard library.
#include "engine/cpu/kernels/bf16.h"

#if defined(__AMX_BF16__) && defined(__AVX512BF16__)
#include <immintrin.h>

#define SWEETSPOT_LANES 16
namespace sweetspot::engine::cpu {
namespace {

#include "engine/cpu/kernels/vectors.inl"
// Over its registers:
#include "engine/cpu/kernels/tiles.inl"
//
#include "engine/cpu/kernels/rounding.inl"
//
#include "engine/cpu/kernels/tile_pooling.inl"
//
#include "engine/cpu/kernels/sample_tiles.inl"

struct alignas(64) Configuration {
  std::uint8_t palette = 1, first_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(Configuration) == 64);
constexpr Configuration whole_tiles;
// The first tiles, sums and the left side, have fewer rows.
struct FewerRows {
  Configuration of[17];
  constexpr FewerRows() {
    for (int rows = 1; rows <= 16; ++rows)
      for (int t = 0; t < 5; ++t) of[rows].rows[t] = static_cast<std::uint8_t>(rows);
  }
};
constexpr FewerRows fewer_rows;

// GCC's intrinsics take tile numbers as tokens, not as constants.
struct Amx {
  // In each call: another library may have configured this thread's tiles since.
  static void configure() { asm volatile("ldtilecfg %0" : : "m"(whole_tiles)); }
  static void configure(int rows) { asm volatile("ldtilecfg %0" : : "m"(fewer_rows.of[rows])); }
  template <int t>
  static void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(t));
  }
  template <int t>
  static void load(const void* from, std::int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(t) : "memory");
  }
  template <int t>
  static void store(void* to, std::int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(t) : "memory");
  }
  template <int sums, int left, int right>
  static void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sums), "i"(left), "i"(right));
  }
};

}  // namespace

const TileProducts products_amx = {
    multiply_on_tiles<Amx>,
    outer_on_tiles<Amx>,
    {taps_on_tiles<Amx>, patches_on_tiles<Amx>, pair_lines_on_tiles<Amx>, pairs_on_tiles<Amx>}};

}  // namespace sweetspot::engine::cpu

#else

namespace sweetspot::engine::cpu {
const TileProducts products_amx = {};
}  // namespace sweetspot::engine::cpu

#endif
