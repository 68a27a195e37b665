// Products of bf16 for CPUs with AVX512-BF16. As kernels.inl, everything is in an anonymous
// namespace and uses no template of the standard library.
#include "engine/cpu/kernels/bf16.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>

#define SWEETSPOT_LANES 16
namespace sweetspot::engine::cpu {
namespace {

#include "engine/cpu/kernels/vectors.inl"
// Over its registers:
#include "engine/cpu/kernels/product.inl"
#include "engine/cpu/kernels/transforms.inl"
//
#include "engine/cpu/kernels/adam.inl"
//
#include "engine/cpu/kernels/rounding.inl"

inline __m512i spread_pair(const Bf16* pair) {
  std::int32_t bits;
  __builtin_memcpy(&bits, pair, sizeof(bits));
  __m512i pairs = _mm512_set1_epi32(bits);
#if defined(__clang__)
  // Clang 16 crashes on a broadcast that is cast to bf16 (VectorCombine): hides what it is.
  asm("" : "+v"(pairs));
#endif
  return pairs;
}
inline vec add_pairs(vec sum, __m512i x, __m512i y) {
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(y));
}

// The operands of products, two at a time.
struct Pairs {
  using Operand = Bf16;
  static constexpr int together = 2;
  static vec spread(const Bf16* x) { return _mm512_castsi512_ps(spread_pair(x)); }
  static vec read(const Bf16* y) { return _mm512_castsi512_ps(load_numbers(y)); }
  static vec add_product(vec sum, vec x, vec y) {
    return add_pairs(sum, _mm512_castps_si512(x), _mm512_castps_si512(y));
  }
  // Whether one of both is; zeros have a sign.
  static __mmask16 nonzero(__m512i pairs) {
    return _mm512_test_epi32_mask(pairs, _mm512_set1_epi32(0x7fff7fff));
  }
  // See nonzeros.inl.
  static constexpr std::int64_t sparse_percent = 65, sparse_percent_of_one = 56;
  static constexpr std::int64_t sparse_percent_of_outer = 80, sparse_percent_of_one_outer = 46;
};

#include "engine/cpu/kernels/nonzeros.inl"

void multiply(const Product<Bf16>& m) {
  if (multiplies_nonzeros<Pairs, 1>(m)) return multiply_nonzeros<Pairs, 1>(m);
  multiply_any<Pairs>(m);
}
void multiply_two(const Product<Bf16>& m, const SecondPanel& second) {
  if (multiplies_nonzeros<Pairs, 2>(m)) return multiply_nonzeros<Pairs, 2>(m, second);
  multiply_any<Pairs>(m);
  multiply_any<Pairs>(second_panel(m, second));
}
void outer(const OuterProduct<Bf16>& o) {
  if (outer_of_nonzeros<Pairs, 1>(o)) return outer_nonzeros<Pairs, 1>(o);
  outer_any<Pairs>(o);
}
void outer_two(const OuterProduct<Bf16>& o, const SecondPanel& second) {
  if (outer_of_nonzeros<Pairs, 2>(o)) return outer_nonzeros<Pairs, 2>(o, second);
  outer_any<Pairs>(o);
  outer_any<Pairs>(second_panel(o, second));
}

void round(const float* from, std::int64_t count, Bf16* to) {
  std::int64_t i = 0;
  for (; i + 32 <= count; i += 32)
    store_numbers(to + i, rounded(load(from + i), load(from + i + 16)));
  for (; i < count; i += 16) {
    const auto mask = static_cast<__mmask16>(count - i >= 16 ? 0xffff : (1 << (count - i)) - 1);
    _mm256_mask_storeu_epi16(to + i, mask, rounded(_mm512_maskz_loadu_ps(mask, from + i)));
  }
}

// 0, 16, 1, 17, …: the numbers of two registers, interleaved.
inline __m512i turns() {
  return _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
                          6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
}

void pair(const float* first, const float* second, std::int64_t count, Bf16* to) {
  const __m512i order = turns();
  for (std::int64_t i = 0; i < count; i += 16)
    store_numbers(to + 2 * i,
                  _mm512_permutexvar_epi16(order, rounded(load(first + i), load(second + i))));
}

void pair_rows(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
               Bf16* to, std::int64_t to_stride) {
  const __m512i order = turns();
  for (std::int64_t r = 0; r < rows; r += 2, from += 2 * from_stride, to += to_stride) {
    const bool both = r + 1 < rows;
    for (std::int64_t c = 0; c < columns; c += 16) {
      const __m512i two = rounded(load(from + c), both ? load(from + from_stride + c) : vec{});
      store_numbers(to + 2 * c, _mm512_permutexvar_epi16(order, two));
    }
  }
}

void adam_pairs(const AdamStep& step, std::int64_t rows, const float* gradient, float* weight,
                float* mean, float* square, const Following& following, const PanelPairs& given) {
  const Adam adam{step, gradient, weight, mean, square, following};
  const PanelPairs pairs = given;
  const __m512i order = turns();
  for (std::int64_t r = 0; r < rows; r += 2)
    for (std::int64_t c = 0; c < pairs.width; c += 16) {
      const vec first = adam.update(r * pairs.width + c),
                second = adam.update((r + 1) * pairs.width + c);
      store_numbers(pairs.to + c / 16 * pairs.column_stride + r / 2 * pairs.row_stride,
                    _mm512_permutexvar_epi16(order, rounded(first, second)));
    }
}

void transpose_pairs(const float* from, std::int64_t from_stride, std::int64_t rows,
                     std::int64_t columns, Bf16* to, std::int64_t to_stride) {
  for (std::int64_t c = 0; c < columns; c += 32) {
    const bool both = c + 16 < columns;
    for (std::int64_t r = 0; r < rows; r += 16) {
      __m512 pairs[16];  // a lane has two columns of a row
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        const float* row = from + (r + i) * from_stride + c;
        pairs[i] = _mm512_castsi512_ps(rounded(load(row), both ? load(row + 16) : vec{}));
      }
      transpose_registers(pairs);
      Bf16* corner = to + c / 2 * to_stride + 2 * r;
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i)
        if (i < 8 || both) store_numbers(corner + i * to_stride, _mm512_castps_si512(pairs[i]));
    }
  }
}

// Sixteen bytes of each of four rows. Rows that come as lanes need half as many shuffles as whole
// rows to be transposed, and those run on one port only.
inline __m512i lanes_of(const Bf16* first, std::int64_t stride) {
  const auto lane = [&](int i) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(first + i * stride));
  };
  __m512i all = _mm512_castsi128_si512(lane(0));
  all = _mm512_inserti32x4(all, lane(1), 1);
  all = _mm512_inserti32x4(all, lane(2), 2);
  return _mm512_inserti32x4(all, lane(3), 3);
}

// A lane of 64 bits has two columns of a pair of rows: first both of the first row, then both of
// the second.
inline __m512i row_by_row(__m512i pairs) {
  const __m128i order = _mm_set_epi8(15, 14, 11, 10, 13, 12, 9, 8, 7, 6, 3, 2, 5, 4, 1, 0);
  return _mm512_shuffle_epi8(pairs, _mm512_broadcast_i32x4(order));
}

void turn_row_pairs(const Bf16* from, std::int64_t column_stride, std::int64_t row_stride,
                    std::int64_t columns, Bf16* to, std::int64_t to_stride) {
  for (std::int64_t c = 0; c < columns; c += 16, from += column_stride)
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i, to += 2 * to_stride) {  // two pairs of columns
      const __m512i even = row_by_row(lanes_of(from + 8 * i, 2 * row_stride)),
                    odd = row_by_row(lanes_of(from + row_stride + 8 * i, 2 * row_stride));
      store_numbers(to, _mm512_unpacklo_epi64(even, odd));
      store_numbers(to + to_stride, _mm512_unpackhi_epi64(even, odd));
    }
}

void round_row_tiles(const float* from, std::int64_t rows, std::int64_t columns, Bf16* to) {
  for (std::int64_t r = 0; r < rows; ++r, from += columns) {
    Bf16* row = to + r / 16 * 16 * columns + r % 16 * 32;
    for (std::int64_t c = 0; c < columns; c += 32, row += 16 * 32)
      store_numbers(row, rounded(load(from + c), load(from + c + 16)));
  }
}

void round_kept(const float* from, const std::uint16_t* keep, float scale, std::int64_t columns,
                Bf16* to) {
  for (std::int64_t c = 0; c < columns; c += 32, to += 16 * 32) {
    __mmask32 kept;
    __builtin_memcpy(&kept, keep + c / 16, sizeof(kept));
    store_numbers(to, _mm512_maskz_mov_epi16(
                          kept, rounded(load(from + c) * scale, load(from + c + 16) * scale)));
  }
}

void turn_rows(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
               Bf16* to) {
  const __m512i order = turns();
  for (std::int64_t c = 0; c < columns; c += 16)
    for (std::int64_t r = 0; r < rows; r += 32) {
      __m512 pairs[16];  // a lane has two rows of a column
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        const float* first = from + (r + 2 * i) * from_stride + c;
        const vec one = r + 2 * i < rows ? load(first) : vec{};
        const vec other = r + 2 * i + 1 < rows ? load(first + from_stride) : vec{};
        pairs[i] = _mm512_castsi512_ps(_mm512_permutexvar_epi16(order, rounded(one, other)));
      }
      transpose_registers(pairs);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i, to += 32) store_numbers(to, _mm512_castps_si512(pairs[i]));
    }
}

// Eight columns of 32 rows: row 8 L + i of every eight, from lane L of a[i], in lane L.
inline void transpose_eights(__m512i (&a)[8]) {
  __m512i b[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    b[i] = _mm512_unpacklo_epi16(a[2 * i], a[2 * i + 1]);
    b[4 + i] = _mm512_unpackhi_epi16(a[2 * i], a[2 * i + 1]);
  }
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {  // four columns, from pairs of rows
    const __m512i* pairs = b + 4 * half;
    const __m512i lower[2] = {_mm512_unpacklo_epi32(pairs[0], pairs[1]),
                              _mm512_unpacklo_epi32(pairs[2], pairs[3])},
                  upper[2] = {_mm512_unpackhi_epi32(pairs[0], pairs[1]),
                              _mm512_unpackhi_epi32(pairs[2], pairs[3])};
    a[4 * half] = _mm512_unpacklo_epi64(lower[0], lower[1]);
    a[4 * half + 1] = _mm512_unpackhi_epi64(lower[0], lower[1]);
    a[4 * half + 2] = _mm512_unpacklo_epi64(upper[0], upper[1]);
    a[4 * half + 3] = _mm512_unpackhi_epi64(upper[0], upper[1]);
  }
}

// Eight numbers of rows i, i + 8, i + 16 and i + 24 of two tiles, of which there are `rows`.
template <bool whole>
inline __m512i lanes_of_tiles(const Bf16* tile, std::int64_t next_tile, int i, std::int64_t rows) {
  if constexpr (whole) {
    const auto lane = [&](int row) {
      return _mm_loadu_si128(
          reinterpret_cast<const __m128i*>(tile + row / 16 * next_tile + row % 16 * 32));
    };
    __m512i all = _mm512_castsi128_si512(lane(i));
    all = _mm512_inserti32x4(all, lane(i + 8), 1);
    all = _mm512_inserti32x4(all, lane(i + 16), 2);
    return _mm512_inserti32x4(all, lane(i + 24), 3);
  }
  alignas(64) Bf16 gathered[32] = {};
  for (std::int64_t row = i; row < rows; row += 8)
    __builtin_memcpy(gathered + row / 8 * 8, tile + row / 16 * next_tile + row % 16 * 32,
                     8 * sizeof(Bf16));
  return load_numbers(gathered);
}

template <bool whole>
inline void turn_two_tiles(const Bf16* from, std::int64_t next_tile, std::int64_t rows, Bf16* to) {
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half, from += 8) {
    __m512i eights[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) eights[i] = lanes_of_tiles<whole>(from, next_tile, i, rows);
    transpose_eights(eights);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i, to += 32) store_numbers(to, eights[i]);
  }
}

void turn_row_tiles(const Bf16* from, std::int64_t rows, std::int64_t columns, std::int64_t first,
                    std::int64_t count, Bf16* to) {
  for (std::int64_t c = first; c < first + count; c += 16)
    for (std::int64_t r = 0; r < rows; r += 32, to += 16 * 32) {
      const Bf16* tile = from + r * columns + c / 32 * 16 * 32 + c % 32;
      rows - r >= 32 ? turn_two_tiles<true>(tile, 16 * columns, 32, to)
                     : turn_two_tiles<false>(tile, 16 * columns, rows - r, to);
    }
}

// Columns [c, c + 16 · units) of one panel, whose sums stay in registers.
template <int units, bool masks>
inline void round_gradient_columns(const OutputGradients& g, std::int64_t c) {
  const __m512i order = turns();
  vec sums[units];
#pragma GCC unroll 4
  for (int u = 0; u < units; ++u) sums[u] = g.sums ? load(g.sums + c + 16 * u) : vec{};
  const auto gradient = [&](std::int64_t at) {
    const vec all = load(g.gradients + at);
    if constexpr (masks) return load(g.values + at) > vec{} ? all : vec{};
    return all;
  };
  const std::int64_t pair_rows = (g.rows + 1) / 2;
  Bf16* pairs = g.pairs + 2 * (c / panel * panel * pair_rows + c % panel);
  for (std::int64_t r = 0; r < g.rows; r += 2, pairs += 2 * panel)
#pragma GCC unroll 4
    for (int u = 0; u < units; ++u) {
      const std::int64_t column = c + 16 * u, at = r * g.columns + column;
      const vec one = gradient(at), other = r + 1 < g.rows ? gradient(at + g.columns) : vec{};
      sums[u] += one, sums[u] += other;
      const __m512i both = rounded(one, other);
      store_numbers(pairs + 32 * u, _mm512_permutexvar_epi16(order, both));
      if (!g.rounded) continue;
      Bf16* row = g.rounded + (g.row_tiles ? r / 16 * 16 * g.columns + column / 32 * 16 * 32 +
                                                 r % 16 * 32 + column % 32
                                           : at);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(row), _mm512_castsi512_si256(both));
      if (r + 1 < g.rows)
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + (g.row_tiles ? 32 : g.columns)),
                            _mm512_extracti64x4_epi64(both, 1));
    }
  if (!g.sums) return;
#pragma GCC unroll 4
  for (int u = 0; u < units; ++u) store(g.sums + c + 16 * u, sums[u]);
}

template <bool masks>
inline void round_gradients_of(const OutputGradients& g) {
  for (std::int64_t c = g.begin; c < g.end;) {
    if (c % panel == 0 && c + panel <= g.end)
      round_gradient_columns<4, masks>(g, c), c += panel;
    else
      round_gradient_columns<1, masks>(g, c), c += 16;
  }
}
void round_gradients(const OutputGradients& given) {
  const OutputGradients g = given;
  g.values ? round_gradients_of<true>(g) : round_gradients_of<false>(g);
}

// Four numbers of the first unit, four of the second, and so on: unpacking two registers separates
// them, so that a register of pairs has one unit.
void pair_units(const float* first, const float* second, std::int64_t positions, Bf16* to) {
  const __m512i order = _mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
  for (std::int64_t p = 0; p < positions; ++p, first += 16, second += 16, to += 32)
    store_numbers(to, _mm512_permutexvar_epi64(order, rounded(load(first), load(second))));
}

struct RoundedPoints {
  Bf16* points;
  std::int64_t stride;
  void operator()(int p, int, vec x) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(points + p * stride), rounded(x));
  }
};
struct EvenPoints {
  Bf16* points;
  std::int64_t stride;
  void operator()(int p, int, vec x) const {
    store_numbers(points + p * stride, _mm512_cvtepu16_epi32(rounded(x)));
  }
};
struct OddPoints {
  Bf16* points;
  std::int64_t stride;
  void operator()(int p, int, vec x) const {
    const __m512i odd = _mm512_slli_epi32(_mm512_cvtepu16_epi32(rounded(x)), 16);
    store_numbers(points + p * stride, _mm512_or_si512(load_numbers(points + p * stride), odd));
  }
};

void winograd_weights(std::int64_t r, const float* taps, std::int64_t tap_stride, bool odd,
                      Bf16* points, std::int64_t point_stride) {
  if (odd)
    winograd_weights_any(r, taps, tap_stride, OddPoints{points, point_stride});
  else
    winograd_weights_any(r, taps, tap_stride, EvenPoints{points, point_stride});
}

void winograd_input(std::int64_t r, const float* plane, std::int64_t line_stride, Bf16* points,
                    std::int64_t point_stride) {
  winograd_input_any(r, plane, line_stride, RoundedPoints{points, point_stride});
}

// Some rows of a kernel: two accumulators per tap.
template <int lines, int width>
inline void sparse_weight_lines(SparseWeights s, int line) {
  constexpr int taps = lines * width;
  float* first = s.first + line * width * 16;
  float* second = s.second + line * width * 16;
  vec sum[2][taps];
#pragma GCC unroll 16
  for (int t = 0; t < taps; ++t)
    sum[0][t] = load(first + t * 16), sum[1][t] = load(second + t * 16);
  const Bf16* input = s.input + line * s.line_stride;
  for (std::int64_t e = 0; e < s.pairs; ++e) {
    const __m512i g = spread_pair(s.gradients + 2 * e);
    const Bf16* one = input + s.offsets[2 * e];
    const Bf16* other = input + s.offsets[2 * e + 1];
#pragma GCC unroll 8
    for (int y = 0; y < lines; ++y, one += s.line_stride, other += s.line_stride)
#pragma GCC unroll 8
      for (int x = 0; x < width; ++x) {
        const __m512i a = load_numbers(one + x * 32), b = load_numbers(other + x * 32);
        const int t = y * width + x;
        sum[0][t] = add_pairs(sum[0][t], g, _mm512_unpacklo_epi16(a, b));
        sum[1][t] = add_pairs(sum[1][t], g, _mm512_unpackhi_epi16(a, b));
      }
  }
#pragma GCC unroll 16
  for (int t = 0; t < taps; ++t)
    store(first + t * 16, sum[0][t]), store(second + t * 16, sum[1][t]);
}

template <int width>
void sparse_weights_of(const SparseWeights& s) {
  constexpr int lines = width <= 2 ? 4 : width == 3 ? 3 : 2;  // up to 20 accumulators
  int line = 0;
  for (; line + lines <= s.kernel_height; line += lines) sparse_weight_lines<lines, width>(s, line);
  for (; line < s.kernel_height; ++line) sparse_weight_lines<1, width>(s, line);
}

void sparse_weights(const SparseWeights& s) {
  switch (s.kernel_width) {
    case 1:
      return sparse_weights_of<1>(s);
    case 2:
      return sparse_weights_of<2>(s);
    case 3:
      return sparse_weights_of<3>(s);
    case 4:
      return sparse_weights_of<4>(s);
    default:
      return sparse_weights_of<5>(s);
  }
}

// Adds to columns [from, from + width) of the sums, which stay in registers.
template <int from, int width>
__attribute__((always_inline)) inline void add_winners(SparseData::Winners w, const Bf16* weights,
                                                       vec (&first)[width + 1],
                                                       vec (&second)[width + 1]) {
  for (std::int64_t e = 0; e < w.pairs; ++e) {
    const __m512i g = spread_pair(w.gradients + 2 * e);
    const Bf16* one = weights + w.offsets[2 * e];
    const Bf16* other = weights + w.offsets[2 * e + 1];
#pragma GCC unroll 8
    for (int x = 0; x < width; ++x) {
      const __m512i a = load_numbers(one + x * 32), b = load_numbers(other + x * 32);
      first[from + x] = add_pairs(first[from + x], g, _mm512_unpacklo_epi16(a, b));
      second[from + x] = add_pairs(second[from + x], g, _mm512_unpackhi_epi16(a, b));
    }
  }
}

// The patches of both positions overlap except for one column.
template <int width>
void sparse_data_of(SparseData s) {
  vec first[width + 1], second[width + 1];
#pragma GCC unroll 8
  for (int x = 0; x < width; ++x)
    first[x] = load(s.first + x * 16), second[x] = load(s.second + x * 16);
  const bool both = s.right.pairs > 0;
  first[width] = both ? load(s.first + width * 16) : vec{};
  second[width] = both ? load(s.second + width * 16) : vec{};
  add_winners<0, width>(s.here, s.weights, first, second);
  add_winners<1, width>(s.right, s.weights, first, second);
#pragma GCC unroll 8
  for (int x = 0; x < width; ++x)
    store(s.first + x * 16, first[x]), store(s.second + x * 16, second[x]);
  if (both) store(s.first + width * 16, first[width]), store(s.second + width * 16, second[width]);
}

void sparse_data(const SparseData& s) {
  switch (s.kernel_width) {
    case 1:
      return sparse_data_of<1>(s);
    case 2:
      return sparse_data_of<2>(s);
    case 3:
      return sparse_data_of<3>(s);
    case 4:
      return sparse_data_of<4>(s);
    default:
      return sparse_data_of<5>(s);
  }
}

// Appends the elements selected by `mask` to a list. Writes 16 of each; the excess is overwritten
// later.
inline void append(__mmask16 mask, __m512i offsets, vec gradients, WinnerList& list) {
  _mm512_storeu_si512(list.offsets + list.count, _mm512_maskz_compress_epi32(mask, offsets));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(list.gradients + list.count),
                      rounded(_mm512_maskz_compress_ps(mask, gradients)));
  list.count += __builtin_popcount(mask);
}

inline __m512i winner_indices(const std::uint8_t* winner) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(winner)));
}

void winners_of_channels(const WindowGradients& w, const std::int32_t* offsets,
                         const std::int32_t* slot_offsets, WinnerList* lists) {
  __m512 gradients[16], winners[16];
  for (int i = 0; i < 16; ++i) {
    const bool there = i < w.windows;
    gradients[i] = there ? load(w.gradients + i * 16) : vec{};
    winners[i] = there ? _mm512_castsi512_ps(winner_indices(w.winner + i * 16)) : vec{};
  }
  transpose_registers(gradients);
  transpose_registers(winners);
  const __m512i first = _mm512_loadu_si512(offsets), of_slot = _mm512_loadu_si512(slot_offsets);
  for (int c = 0; c < 16; ++c) {
    const __m512i slot = _mm512_permutexvar_epi32(_mm512_castps_si512(winners[c]), of_slot);
    append(_mm512_cmp_ps_mask(gradients[c], vec{}, _CMP_NEQ_UQ), _mm512_add_epi32(first, slot),
           gradients[c], lists[c]);
  }
}

void winners_of_positions(const WindowGradients& w, std::int64_t slots, std::int32_t first_offset,
                          std::int32_t channel_offset, WinnerList* lists) {
  const __m512i offsets = _mm512_add_epi32(
      _mm512_set1_epi32(first_offset),
      _mm512_mullo_epi32(_mm512_set1_epi32(channel_offset),
                         _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)));
  for (std::int64_t i = 0; i < w.windows; ++i) {
    const vec g = load(w.gradients + i * 16);
    const __m512i winner = winner_indices(w.winner + i * 16);
    const __mmask16 passes = _mm512_cmp_ps_mask(g, vec{}, _CMP_NEQ_UQ);
    for (std::int64_t s = 0; s < slots; ++s, ++lists)
      append(_mm512_mask_cmpeq_epi32_mask(passes, winner,
                                          _mm512_set1_epi32(static_cast<std::int32_t>(s))),
             offsets, g, *lists);
  }
}

// A shift by 32 or more, or by a negative amount, leaves nothing.
void winners_in_pairs(const WindowGradients& w, std::int64_t slots, Bf16* to) {
  for (std::int64_t i = 0; i < w.windows; ++i) {
    const __m512i g = _mm512_cvtepu16_epi32(rounded(load(w.gradients + i * 16)));
    __m512i shift = _mm512_slli_epi32(winner_indices(w.winner + i * 16), 4);
    for (std::int64_t s = 0; s < slots; s += 2, to += 32) {
      store_numbers(to, _mm512_sllv_epi32(g, shift));
      shift = _mm512_sub_epi32(shift, _mm512_set1_epi32(32));
    }
  }
}

#include "engine/cpu/kernels/tile_pooling.inl"
//
#include "engine/cpu/kernels/sample_tile_operands.inl"
//
#include "engine/cpu/kernels/patch_weights.inl"
#include "engine/cpu/kernels/pooled_pairs.inl"

}  // namespace

const Bf16Kernels kernels_avx512bf16 = {
    "avx512bf16",
    false,
    multiply,
    multiply_two,
    outer,
    outer_two,
    multiply_pooled_pairs,
    round,
    pair,
    pair_rows,
    adam_pairs,
    transpose_pairs,
    turn_row_pairs,
    round_row_tiles,
    round_kept,
    turn_rows,
    turn_row_tiles,
    round_gradients,
    pair_units,
    winograd_weights,
    winograd_input,
    winners_of_channels,
    winners_of_positions,
    winners_in_pairs,
    patch_weights,
    sparse_weights,
    sparse_data,
    {side_by_side, winners_side_by_side, gradients_side_by_side, patches, turn_frames, tap_lines,
     gradient_tiles, pair_places, turn_places, pool},
    {}};

}  // namespace sweetspot::engine::cpu

#else

namespace sweetspot::engine::cpu {
const Bf16Kernels kernels_avx512bf16 = {};
}  // namespace sweetspot::engine::cpu

#endif
