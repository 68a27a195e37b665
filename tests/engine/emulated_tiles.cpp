#include "emulated_tiles.h"

#if defined(__AVX512BF16__)
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

// As in Intel's manual, but without flushing subnormal numbers to zero.
struct Emulated {
  static inline thread_local std::uint8_t tiles[8][16][64];
  static inline thread_local int rows_of[8];

  // Poisons the tiles, so that code that skips this call fails.
  static void configure(int rows = 16) {
    __builtin_memset(tiles, 0xff, sizeof(tiles));
    for (int t = 0; t < 8; ++t) rows_of[t] = t < 5 ? rows : 16;
  }
  template <int t>
  static void zero() {
    __builtin_memset(tiles[t], 0, sizeof(tiles[t]));
  }
  template <int t>
  static void load(const void* from, std::int64_t stride) {
    for (int r = 0; r < rows_of[t]; ++r)
      __builtin_memcpy(tiles[t][r], static_cast<const std::uint8_t*>(from) + r * stride, 64);
  }
  template <int t>
  static void store(void* to, std::int64_t stride) {
    for (int r = 0; r < rows_of[t]; ++r)
      __builtin_memcpy(static_cast<std::uint8_t*>(to) + r * stride, tiles[t][r], 64);
  }
  template <int sums, int left, int right>
  static void multiply() {
    for (int r = 0; r < rows_of[sums]; ++r) {
      __m512 sum = _mm512_loadu_ps(tiles[sums][r]);
      for (int pair = 0; pair < 16; ++pair) {
        std::int32_t spread;
        __builtin_memcpy(&spread, tiles[left][r] + 4 * pair, 4);
        const __m512i x = _mm512_set1_epi32(spread), y = _mm512_loadu_si512(tiles[right][pair]);
        sum = _mm512_fmadd_ps(even(x), even(y), _mm512_fmadd_ps(odd(x), odd(y), sum));
      }
      _mm512_storeu_ps(tiles[sums][r], sum);
    }
  }

 private:
  static __m512 even(__m512i pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }
  static __m512 odd(__m512i pairs) {
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(~0xffff)));
  }
};

}  // namespace
}  // namespace sweetspot::engine::cpu

namespace sweetspot::engine::testing {
const cpu::TileProducts emulated_tiles = {
    cpu::multiply_on_tiles<cpu::Emulated>,
    cpu::outer_on_tiles<cpu::Emulated>,
    {cpu::taps_on_tiles<cpu::Emulated>, cpu::patches_on_tiles<cpu::Emulated>,
     cpu::pair_lines_on_tiles<cpu::Emulated>, cpu::pairs_on_tiles<cpu::Emulated>}};
}  // namespace sweetspot::engine::testing

#else

namespace sweetspot::engine::testing {
const cpu::TileProducts emulated_tiles = {};
}  // namespace sweetspot::engine::testing

#endif
