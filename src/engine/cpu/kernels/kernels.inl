// Included by one source file for each instruction set, which defines SWEETSPOT_KERNELS (the name
// of its table) and SWEETSPOT_LANES (floats in a register). Everything here is in an anonymous
// namespace and uses no template of the standard library: a function compiled for AVX-512 must
// never be the copy that the linker keeps for the whole program.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "engine/cpu/kernels/kernels.h"

namespace sweetspot::engine::cpu {
namespace {

constexpr int lanes = SWEETSPOT_LANES;
constexpr int vectors = 16 / lanes;  // registers in a unit
typedef float vec __attribute__((vector_size(lanes * 4)));
typedef float vec_unaligned __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef std::int32_t ivec __attribute__((vector_size(lanes * 4)));
typedef std::int32_t ivec_unaligned __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef std::uint8_t bvec __attribute__((vector_size(lanes)));
typedef std::uint8_t bvec_unaligned __attribute__((vector_size(lanes), aligned(1), may_alias));

inline vec load(const float* p) { return *reinterpret_cast<const vec_unaligned*>(p); }
inline void store(float* p, vec v) { *reinterpret_cast<vec_unaligned*>(p) = v; }
inline vec broadcast(float x) { return x - vec{}; }
inline vec larger(vec a, vec b) { return a > b ? a : b; }
// A NaN passes: training must see that it went astray.
inline vec positive_part(vec x) { return larger(vec{}, x); }

// A loop that stores has its parameters by value. Behind a reference any store might change them,
// so the compiler reads them again after each, and where the pages happen to lie such that the CPU
// takes the read for one of what was just stored, it waits: an executor was a third slower for its
// lifetime.

// Rows of A that are multiplied at once, for a panel of `units` units: as many accumulators as the
// register file holds beside the operands (24 of 32 for AVX-512, 12 of 16 for AVX2).
template <int units>
constexpr int tile_rows = lanes == 16 ? 24 / units : (lanes == 8 ? 6 : 2);

// Rows of B that are multiplied with every row of A before the next ones, so that they are read
// from first-level cache: segments [first, end), elements [from, to) of each.
struct Block {
  std::int64_t first, end, from, to;
  bool begins, ends;  // the sums
};

template <int rows, int units>
inline void multiply_tile(Multiply m, Block block, std::int64_t first, std::int64_t column) {
  constexpr int n = units * vectors;
  const float* a[rows];
  float* c[rows];
  vec sum[rows][n];
#pragma GCC unroll 24
  for (int r = 0; r < rows; ++r) {
    a[r] = m.a + (m.row_offsets ? m.row_offsets[first + r] : (first + r) * m.row_stride);
    c[r] = m.c + column / 16 * m.c_unit_stride +
           (m.c_row_offsets ? m.c_row_offsets[first + r] : (first + r) * m.c_row_stride);
  }
  if (block.begins) {
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v) sum[r][v] = m.bias ? load(m.bias + column + v * lanes) : vec{};
  } else {
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v)
        sum[r][v] = load(c[r] + v / vectors * m.c_unit_stride + v % vectors * lanes);
  }
  const float* b = m.b + column + (block.first * m.run + block.from) * m.width;
  for (std::int64_t s = block.first; s < block.end; ++s) {
    const std::int64_t offset = m.segment_offsets ? m.segment_offsets[s] : 0;
    for (std::int64_t j = offset + block.from; j < offset + block.to; ++j, b += m.width) {
      vec column_values[n];
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v) column_values[v] = load(b + v * lanes);
#pragma GCC unroll 24
      for (int r = 0; r < rows; ++r) {
        const vec x = broadcast(a[r][j]);
#pragma GCC unroll 16
        for (int v = 0; v < n; ++v) sum[r][v] += x * column_values[v];
      }
    }
  }
  if (m.relu && block.ends)
#pragma GCC unroll 24
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v) sum[r][v] = positive_part(sum[r][v]);
#pragma GCC unroll 24
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 16
    for (int v = 0; v < n; ++v)
      store(c[r] + v / vectors * m.c_unit_stride + v % vectors * lanes, sum[r][v]);
}

template <int units, int rows = tile_rows<units>>
inline void multiply_tail(const Multiply& m, const Block& block, std::int64_t first,
                          std::int64_t column) {
  if constexpr (rows > 0) {
    if (m.rows - first == rows)
      multiply_tile<rows, units>(m, block, first, column);
    else
      multiply_tail<units, rows - 1>(m, block, first, column);
  }
}

template <int units>
void multiply_block(const Multiply& m, const Block& block, std::int64_t column) {
  std::int64_t r = 0;
  for (; r + tile_rows<units> <= m.rows; r += tile_rows<units>)
    multiply_tile<tile_rows<units>, units>(m, block, r, column);
  multiply_tail<units>(m, block, r, column);
}

template <int units>
void multiply_units(const Multiply& m, std::int64_t column) {
  // 24 KiB: half of a first-level cache. Few rows read B once or twice anyhow.
  const std::int64_t depth = m.rows > 2 * tile_rows<units> ? 6144 / m.width : m.segments * m.run;
  if (m.segments * m.run <= 2 * depth)
    return multiply_block<units>(m, {0, m.segments, 0, m.run, true, true}, column);
  if (m.segments == 1) {
    for (std::int64_t j = 0; j < m.run; j += depth)
      multiply_block<units>(
          m, {0, 1, j, j + depth < m.run ? j + depth : m.run, j == 0, j + depth >= m.run}, column);
    return;
  }
  const std::int64_t step = m.run >= depth ? 1 : depth / m.run;
  for (std::int64_t s = 0; s < m.segments; s += step)
    multiply_block<units>(m,
                          {s, s + step < m.segments ? s + step : m.segments, 0, m.run, s == 0,
                           s + step >= m.segments},
                          column);
}

void multiply(const Multiply& m) {
  if constexpr (lanes == 16) {
    switch (m.width / unit) {
      case 1:
        return multiply_units<1>(m, 0);
      case 2:
        return multiply_units<2>(m, 0);
      case 3:
        return multiply_units<3>(m, 0);
      default:
        return multiply_units<4>(m, 0);
    }
  } else {
    for (std::int64_t column = 0; column < m.width; column += unit) multiply_units<1>(m, column);
  }
}

template <int depth, int units>
inline void outer_tile(Outer o, std::int64_t k, std::int64_t column) {
  constexpr int n = units * vectors;
  vec sum[depth][n];
#pragma GCC unroll 24
  for (int i = 0; i < depth; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < n; ++v)
      sum[i][v] = o.accumulate ? load(o.d + (k + i) * o.width + column + v * lanes) : vec{};
  const float* g = o.g + column / 16 * o.g_unit_stride;
  for (std::int64_t r = 0; r < o.rows; ++r, g += o.g_row_stride) {
    const float* a = o.a + (o.row_offsets ? o.row_offsets[r] : r * o.row_stride) + k;
    // A dense layer's rows lie far apart: no hardware foresees that the next tiles want what
    // follows in each.
    __builtin_prefetch(a + 2 * depth);
    vec row[n];
#pragma GCC unroll 16
    for (int v = 0; v < n; ++v)
      row[v] = load(g + v / vectors * o.g_unit_stride + v % vectors * lanes);
#pragma GCC unroll 24
    for (int i = 0; i < depth; ++i) {
      const vec x = broadcast(a[i]);
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v) sum[i][v] += x * row[v];
    }
  }
  float* d = o.d + k * o.width + column;
#pragma GCC unroll 24
  for (int i = 0; i < depth; ++i, d += o.width)
#pragma GCC unroll 16
    for (int v = 0; v < n; ++v) store(d + v * lanes, sum[i][v]);
}

template <int units, int depth = tile_rows<units>>
inline void outer_tail(const Outer& o, std::int64_t k, std::int64_t column) {
  if constexpr (depth > 0) {
    if (o.depth - k == depth)
      outer_tile<depth, units>(o, k, column);
    else
      outer_tail<units, depth - 1>(o, k, column);
  }
}

template <int units>
void outer_units(const Outer& o, std::int64_t column) {
  std::int64_t k = 0;
  for (; k + tile_rows<units> <= o.depth; k += tile_rows<units>)
    outer_tile<tile_rows<units>, units>(o, k, column);
  outer_tail<units>(o, k, column);
}

void outer(const Outer& o) {
  if constexpr (lanes == 16) {
    switch (o.width / unit) {
      case 1:
        return outer_units<1>(o, 0);
      case 2:
        return outer_units<2>(o, 0);
      case 3:
        return outer_units<3>(o, 0);
      default:
        return outer_units<4>(o, 0);
    }
  } else {
    for (std::int64_t column = 0; column < o.width; column += unit) outer_units<1>(o, column);
  }
}

inline float lane_sum(vec v) {
#if SWEETSPOT_LANES == 16
  return _mm512_reduce_add_ps(v);
#else
  float total = 0;
  for (int lane = 0; lane < lanes; ++lane) total += v[lane];
  return total;
#endif
}

template <int rows>
inline void dot_tile(Dot d, std::int64_t r, std::int64_t k) {
  constexpr int depth = lanes == 16 ? 8 : 4;
  for (std::int64_t i = k; i < k + unit; i += depth) {
    vec sum[rows][depth];
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 8
      for (int j = 0; j < depth; ++j) sum[row][j] = vec{};
    for (std::int64_t column = 0; column < d.columns; column += panel) {
      const std::int64_t width = d.columns - column < panel ? d.columns - column : panel;
      const float* b = d.b + column * d.b_rows + i * width;
      for (std::int64_t n = 0; n < width; n += lanes) {
        vec g[rows];
#pragma GCC unroll 4
        for (int row = 0; row < rows; ++row)
          g[row] = load(d.g + (r + row) * d.g_row_stride + column + n);
#pragma GCC unroll 8
        for (int j = 0; j < depth; ++j) {
          const vec x = load(b + j * width + n);
#pragma GCC unroll 4
          for (int row = 0; row < rows; ++row) sum[row][j] += g[row] * x;
        }
      }
    }
#pragma GCC unroll 4
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 8
      for (int j = 0; j < depth; ++j)
        d.x[(r + row) * d.x_row_stride + i + j] = lane_sum(sum[row][j]);
  }
}

void dot(const Dot& d) {
  for (std::int64_t k = d.first; k < d.first + d.depth; k += unit) {
    std::int64_t r = 0;
    for (; r + 3 <= d.rows; r += 3) dot_tile<3>(d, r, k);
    if (d.rows - r == 2) dot_tile<2>(d, r, k);
    if (d.rows - r == 1) dot_tile<1>(d, r, k);
  }
}

inline void pool_lanes(const float* in, std::int64_t slots, bool relu, float* out,
                       std::uint8_t* winners, int v) {
  vec best = load(in + v);
  ivec winner{};
  for (std::int64_t s = 1; s < slots; ++s) {
    const vec x = load(in + s * 16 + v);
    const ivec wins = x > best;
    best = wins ? x : best;
    winner = wins ? ivec{} + static_cast<std::int32_t>(s) : winner;
  }
  if (relu) {
    const ivec stops = best <= vec{};  // a NaN passes
    best = stops ? vec{} : best;
    winner = stops ? ivec{} + no_gradient : winner;
  }
  store(out + v, best);
  *reinterpret_cast<bvec_unaligned*>(winners + v) = __builtin_convertvector(winner, bvec);
}

void pool_windows(const PoolWindows& given) {
  const PoolWindows p = given;
  for (std::int64_t w = 0; w < p.windows; ++w)
    for (int v = 0; v < 16; v += lanes)
      pool_lanes(p.in + w * p.slots * 16, p.slots, p.relu, p.out + w * 16, p.winner + w * 16, v);
}

void mask_gradients(float* gradients, const std::uint8_t* winner, std::int64_t windows,
                    float* bias) {
  for (int v = 0; v < 16; v += lanes) {
    vec sum = load(bias + v);
    for (std::int64_t w = 0; w < windows; ++w) {
      const ivec index = __builtin_convertvector(
          *reinterpret_cast<const bvec_unaligned*>(winner + w * 16 + v), ivec);
      const vec g = index != no_gradient ? load(gradients + w * 16 + v) : vec{};
      store(gradients + w * 16 + v, g);
      sum += g;
    }
    store(bias + v, sum);
  }
}

template <int height, int width>
void sparse_weights_fixed(SparseConv c, const float* input, float* weights) {
  for (int v = 0; v < 16; v += lanes) {
    vec sum[height * width];
#pragma GCC unroll 32
    for (int t = 0; t < height * width; ++t) sum[t] = load(weights + t * 16 + v);
    for (std::int64_t e = 0; e < c.winners.count; ++e) {
      const vec g = broadcast(c.winners.gradients[e]);
      const float* in = input + c.winners.offsets[e] + v;
#pragma GCC unroll 8
      for (int y = 0; y < height; ++y)
#pragma GCC unroll 8
        for (int x = 0; x < width; ++x)
          sum[y * width + x] += g * load(in + y * c.line_stride + x * 16);
    }
#pragma GCC unroll 32
    for (int t = 0; t < height * width; ++t) store(weights + t * 16 + v, sum[t]);
  }
}

void sparse_weights_any(SparseConv c, const float* input, float* weights) {
  for (std::int64_t y = 0; y < c.kernel_height; ++y)
    for (std::int64_t x = 0; x < c.kernel_width; ++x, weights += 16)
      for (int v = 0; v < 16; v += lanes) {
        vec sum = load(weights + v);
        for (std::int64_t e = 0; e < c.winners.count; ++e)
          sum += c.winners.gradients[e] *
                 load(input + c.winners.offsets[e] + y * c.line_stride + x * 16 + v);
        store(weights + v, sum);
      }
}

template <int height, int width>
void sparse_data_fixed(SparseConv c, const float* weights, float* input_gradient) {
  for (int v = 0; v < 16; v += lanes) {
    vec w[height * width];
#pragma GCC unroll 32
    for (int t = 0; t < height * width; ++t) w[t] = load(weights + t * 16 + v);
    for (std::int64_t e = 0; e < c.winners.count; ++e) {
      const vec g = broadcast(c.winners.gradients[e]);
      float* line = input_gradient + c.winners.offsets[e] + v;
#pragma GCC unroll 8
      for (int y = 0; y < height; ++y, line += c.line_stride)
#pragma GCC unroll 8
        for (int x = 0; x < width; ++x)
          store(line + x * 16, load(line + x * 16) + g * w[y * width + x]);
    }
  }
}

void sparse_data_any(SparseConv c, const float* weights, float* input_gradient) {
  for (std::int64_t e = 0; e < c.winners.count; ++e) {
    const vec g = broadcast(c.winners.gradients[e]);
    const float* w = weights;
    float* line = input_gradient + c.winners.offsets[e];
    for (std::int64_t y = 0; y < c.kernel_height; ++y, line += c.line_stride)
      for (std::int64_t x = 0; x < c.kernel_width; ++x, w += 16)
        for (int v = 0; v < 16; v += lanes) {
          float* at = line + x * 16 + v;
          store(at, load(at) + g * load(w + v));
        }
  }
}

constexpr bool is(const SparseConv& c, std::int64_t size) {
  return c.kernel_height == size && c.kernel_width == size;
}

void sparse_weights(const SparseConv& c, const float* input, float* weights) {
  if (is(c, 2)) return sparse_weights_fixed<2, 2>(c, input, weights);
  if (is(c, 3)) return sparse_weights_fixed<3, 3>(c, input, weights);
  if constexpr (lanes == 16) {  // more accumulators than AVX2 has registers
    if (is(c, 4)) return sparse_weights_fixed<4, 4>(c, input, weights);
    if (is(c, 5)) return sparse_weights_fixed<5, 5>(c, input, weights);
  }
  sparse_weights_any(c, input, weights);
}

void sparse_data(const SparseConv& c, const float* weights, float* input_gradient) {
  if (is(c, 2)) return sparse_data_fixed<2, 2>(c, weights, input_gradient);
  if (is(c, 3)) return sparse_data_fixed<3, 3>(c, weights, input_gradient);
  if constexpr (lanes == 16) {
    if (is(c, 4)) return sparse_data_fixed<4, 4>(c, weights, input_gradient);
    if (is(c, 5)) return sparse_data_fixed<5, 5>(c, weights, input_gradient);
  }
  sparse_data_any(c, weights, input_gradient);
}

void patch_weights(const float* patches, std::int64_t windows, std::int64_t slots,
                   std::int64_t depth, const float* gradients, const std::uint8_t* winner,
                   float* weights) {
  constexpr int group = lanes == 16 ? 16 : 8;  // output channels with an accumulator each
  for (std::int64_t k = 0; k < depth; k += lanes)
    for (int first = 0; first < 16; first += group) {
      vec sum[group];
#pragma GCC unroll 16
      for (int i = 0; i < group; ++i) sum[i] = load(weights + (first + i) * depth + k);
      for (std::int64_t w = 0; w < windows; ++w) {
        const float* patch = patches + w * slots * depth + k;
        const float* g = gradients + w * 16 + first;
        const std::uint8_t* index = winner + w * 16 + first;
#pragma GCC unroll 16
        for (int i = 0; i < group; ++i) {
          // A lane without a winner has gradient zero: any patch will do.
          const std::int64_t slot = index[i] == no_gradient ? 0 : index[i];
          sum[i] += g[i] * load(patch + slot * depth);
        }
      }
#pragma GCC unroll 16
      for (int i = 0; i < group; ++i) store(weights + (first + i) * depth + k, sum[i]);
    }
}

#if SWEETSPOT_LANES == 16
// Four rounds of shuffles exchange pairs, quads, halves of 256 bits and halves of 512 bits.
inline void transpose_tile(const float* from, std::int64_t from_stride, float* to,
                           std::int64_t to_stride) {
  __m512 a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) a[i] = _mm512_loadu_ps(from + i * from_stride);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
    b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const __m512d lower = _mm512_castps_pd(b[i + j]), upper = _mm512_castps_pd(b[i + j + 2]);
      a[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(lower, upper));
      a[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(lower, upper));
    }
    // Now a[4q + c] holds column c + 4 · lane of rows 4q..4q+3, for each 128-bit lane.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512 even01 = _mm512_shuffle_f32x4(a[c], a[c + 4], 0x88),
                 odd01 = _mm512_shuffle_f32x4(a[c], a[c + 4], 0xdd);
    const __m512 even23 = _mm512_shuffle_f32x4(a[c + 8], a[c + 12], 0x88);
    const __m512 odd23 = _mm512_shuffle_f32x4(a[c + 8], a[c + 12], 0xdd);
    _mm512_storeu_ps(to + c * to_stride, _mm512_shuffle_f32x4(even01, even23, 0x88));
    _mm512_storeu_ps(to + (c + 4) * to_stride, _mm512_shuffle_f32x4(odd01, odd23, 0x88));
    _mm512_storeu_ps(to + (c + 8) * to_stride, _mm512_shuffle_f32x4(even01, even23, 0xdd));
    _mm512_storeu_ps(to + (c + 12) * to_stride, _mm512_shuffle_f32x4(odd01, odd23, 0xdd));
  }
}
#else
inline void transpose_tile(const float* from, std::int64_t from_stride, float* to,
                           std::int64_t to_stride) {
  for (int j = 0; j < 16; ++j)
    for (int i = 0; i < 16; ++i) to[j * to_stride + i] = from[i * from_stride + j];
}
#endif

void transpose(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
               float* to, std::int64_t to_stride) {
  for (std::int64_t c = 0; c < columns; c += 16)
    for (std::int64_t r = 0; r < rows; r += 16)
      transpose_tile(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
}

#include "engine/cpu/kernels/activations.inl"
#include "engine/cpu/kernels/normalise.inl"
#include "engine/cpu/kernels/philox.inl"
#include "engine/cpu/kernels/pool.inl"
#include "engine/cpu/kernels/winograd.inl"

void add(const float* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

void stream(const float* from, std::int64_t count, float* to) {
#if defined(__x86_64__)
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(vec) == 0) {
    for (std::int64_t i = 0; i < count; i += lanes)
#if SWEETSPOT_LANES == 16
      _mm512_stream_ps(to + i, load(from + i));
#elif SWEETSPOT_LANES == 8
      _mm256_stream_ps(to + i, load(from + i));
#else
      _mm_stream_ps(to + i, load(from + i));
#endif
    return _mm_sfence();
  }
#endif
  for (std::int64_t i = 0; i < count; i += lanes) store(to + i, load(from + i));
}

void add_patches(const PatchRows& given, const float* patches, float* frame) {
  const PatchRows p = given;
  for (std::int64_t r = 0; r < p.rows; ++r, patches += p.depth) {
    const float* from = patches;
    float* to = frame + p.offsets[r];
    for (std::int64_t y = 0; y < p.lines; ++y, from += p.run, to += p.line_stride) {
      std::int64_t i = 0;
      for (; i + lanes <= p.run; i += lanes) store(to + i, load(to + i) + load(from + i));
      for (; i < p.run; ++i) to[i] += from[i];
    }
  }
}

void scale_kept(const float* from, const std::uint8_t* keep, float scale, std::int64_t count,
                float* to) {
  for (std::int64_t i = 0; i < count; i += lanes) {
    const ivec kept =
        __builtin_convertvector(*reinterpret_cast<const bvec_unaligned*>(keep + i), ivec);
    store(to + i, kept != 0 ? load(from + i) * scale : vec{});
  }
}

void bias_gradient(const float* value, std::int64_t positions, float* gradient, float* bias) {
  for (int v = 0; v < 16; v += lanes) {
    vec total[1];
    blocked_sums(positions, 16, total, [=](std::int64_t at, vec(&to)[1]) {
      vec g = load(gradient + at + v);
      if (value) {
        g = load(value + at + v) > vec{} ? g : vec{};
        store(gradient + at + v, g);
      }
      to[0] += g;
    });
    store(bias + v, load(bias + v) + total[0]);
  }
}

void pass_positive(const float* value, std::int64_t count, float* gradient) {
  for (std::int64_t i = 0; i < count; i += lanes)
    store(gradient + i, load(value + i) > vec{} ? load(gradient + i) : vec{});
}

#include "engine/cpu/kernels/depthwise.inl"
#include "engine/cpu/kernels/functions.inl"
#include "engine/cpu/kernels/layer_norm.inl"

void sgd(float learning_rate, std::int64_t count, const float* gradient, float* weight) {
  for (std::int64_t i = 0; i < count; ++i) weight[i] -= learning_rate * gradient[i];
}

void momentum(const MomentumStep& given, std::int64_t count, const float* gradient, float* weight,
              float* velocity) {
  const MomentumStep s = given;
  for (std::int64_t i = 0; i < count; ++i) {
    const float v = s.momentum * velocity[i] - s.learning_rate * gradient[i];
    velocity[i] = v;
    weight[i] += s.nesterov ? s.momentum * v - s.learning_rate * gradient[i] : v;
  }
}

#if SWEETSPOT_LANES == 16
// m / (√v + ε) by the reciprocals' 14-bit estimates and a Newton step each, which is good to a few
// units in the last place and three times faster than the division and the root.
inline vec quotient(vec m, vec v, float epsilon) {
  const vec positive = larger(v, broadcast(1e-37f));  // the root of zero has no reciprocal
  vec r = _mm512_rsqrt14_ps(positive);
  r = r * (1.5f - 0.5f * positive * r * r);
  const vec d = positive * r + epsilon;
  vec q = _mm512_rcp14_ps(d);
  q = q * (2.f - d * q);
  return m * q;
}
#else
inline vec quotient(vec m, vec v, float epsilon) {
  vec root;
  for (int lane = 0; lane < lanes; ++lane) root[lane] = __builtin_sqrtf(v[lane]);
  return m / (root + epsilon);
}
#endif

void adam(const AdamStep& given, std::int64_t count, const float* gradient, float* weight,
          float* mean, float* square) {
  const AdamStep s = given;
  for (std::int64_t i = 0; i < count; i += lanes) {  // every stretch of weights is whole units
    const vec g = load(gradient + i), w = load(weight + i);
    const vec m = s.beta1 * load(mean + i) + (1 - s.beta1) * g;
    const vec v = s.beta2 * load(square + i) + (1 - s.beta2) * g * g;
    store(mean + i, m), store(square + i, v);
    store(weight + i, w - (s.decay * w + s.learning_rate * quotient(m, v, s.epsilon)));
  }
}

}  // namespace

extern const Kernels SWEETSPOT_KERNELS;
const Kernels SWEETSPOT_KERNELS = {SWEETSPOT_KERNELS_NAME,
                                   multiply,
                                   outer,
                                   dot,
                                   pool_windows,
                                   mask_gradients,
                                   sparse_weights,
                                   sparse_data,
                                   patch_weights,
                                   transpose,
                                   winograd_weights,
                                   winograd_input,
                                   winograd_output,
                                   filter_weights,
                                   filter_output,
                                   filter_gradient,
                                   filter_weight_gradient,
                                   keep_mask,
                                   add,
                                   stream,
                                   add_patches,
                                   scale_kept,
                                   bias_gradient,
                                   pass_positive,
                                   activate,
                                   activate_back,
                                   softmax,
                                   moments,
                                   normalise,
                                   normalise_sums,
                                   normalise_back,
                                   max_pool,
                                   max_pool_back,
                                   average_pool,
                                   average_pool_back,
                                   sgd,
                                   momentum,
                                   adam,
                                   {apply, apply_back, depthwise, depthwise_data, depthwise_weights,
                                    normalise_group, normalise_group_back, prelu, prelu_back,
                                    scale_shift, scale_lanes, normal_noise, add_penalty, penalty}};

}  // namespace sweetspot::engine::cpu
