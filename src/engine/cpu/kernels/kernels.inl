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

#include "engine/cpu/kernels/vectors.inl"

// A loop that stores has its parameters by value. Behind a reference, any store might change them,
// so the compiler reloads them after each; and if the pages are aligned such that the CPU mistakes
// the load for one of the value just stored (4K aliasing), it waits: an executor was a third slower
// for its lifetime.

#include "engine/cpu/kernels/product.inl"

// The operands of products in fp32.
struct Single {
  using Operand = float;
  static constexpr int together = 1;
  static vec spread(const float* x) { return broadcast(*x); }
  static vec read(const float* y) { return load(y); }
  static vec add_product(vec sum, vec x, vec y) { return sum + x * y; }
#if SWEETSPOT_LANES == 16
  static __mmask16 nonzero(__m512i x) {
    return _mm512_cmp_ps_mask(_mm512_castsi512_ps(x), _mm512_setzero_ps(), _CMP_NEQ_UQ);
  }
  // See nonzeros.inl.
  static constexpr std::int64_t sparse_percent = 58, sparse_percent_of_one = 45;
  static constexpr std::int64_t sparse_percent_of_outer = 58, sparse_percent_of_one_outer = 36;
#endif
};

#if SWEETSPOT_LANES == 16
#include "engine/cpu/kernels/nonzeros.inl"
#endif

void multiply(const Multiply& m) {
#if SWEETSPOT_LANES == 16
  if (multiplies_nonzeros<Single, 1>(m)) return multiply_nonzeros<Single, 1>(m);
#endif
  multiply_any<Single>(m);
}
void multiply_two(const Multiply& m, const SecondPanel& second) {
#if SWEETSPOT_LANES == 16
  if (multiplies_nonzeros<Single, 2>(m)) return multiply_nonzeros<Single, 2>(m, second);
#endif
  multiply_any<Single>(m);
  multiply_any<Single>(second_panel(m, second));
}
void outer(const Outer& o) {
#if SWEETSPOT_LANES == 16
  if (outer_of_nonzeros<Single, 1>(o)) return outer_nonzeros<Single, 1>(o);
#endif
  outer_any<Single>(o);
}
void outer_two(const Outer& o, const SecondPanel& second) {
#if SWEETSPOT_LANES == 16
  if (outer_of_nonzeros<Single, 2>(o)) return outer_nonzeros<Single, 2>(o, second);
#endif
  outer_any<Single>(first_panel(o));
  outer_any<Single>(second_panel(o, second));
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

#include "engine/cpu/kernels/narrow.inl"

// The largest of the values of a window, and its index.
struct Best {
  vec value;
  ivec index;

  void compare(vec x, int s) {
    const ivec wins = x > value;
    value = wins ? x : value;
    index = wins ? ivec{} + s : index;
  }
  void finish(bool relu, float* out, std::uint8_t* winner) {
    if (relu) {
      const ivec stops = value <= vec{};  // a NaN passes
      value = stops ? vec{} : value;
      index = stops ? ivec{} + no_gradient : index;
    }
    store(out, value);
    *reinterpret_cast<bvec_unaligned*>(winner) = __builtin_convertvector(index, bvec);
  }
};

inline void pool_lanes(const float* in, std::int64_t slots, bool relu, float* out,
                       std::uint8_t* winners, int v) {
  Best best{load(in + v), {}};
  for (std::int64_t s = 1; s < slots; ++s)
    best.compare(load(in + s * 16 + v), static_cast<int>(s));
  best.finish(relu, out + v, winners + v);
}

void pool_windows(const PoolWindows& given) {
  const PoolWindows p = given;
  for (std::int64_t w = 0; w < p.windows; ++w)
    for (int v = 0; v < 16; v += lanes)
      pool_lanes(p.in + w * p.slots * 16, p.slots, p.relu, p.out + w * 16, p.winner + w * 16, v);
}

#include "engine/cpu/kernels/pooled_product.inl"

void mask_gradients(float* gradients, const std::uint8_t* winner, std::int64_t windows,
                    float* bias) {
  for (int v = 0; v < 16; v += lanes) {
    vec sum = load(bias + v);
    for (std::int64_t w = 0; w < windows; ++w) {
      const ivec index = widened(winner + w * 16 + v);
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
        alignas(64) std::int32_t offsets[group];
#pragma GCC unroll 4
        for (int i = 0; i < group; i += lanes) {
          const ivec slot = widened(index + i);
          // A lane without a winner has gradient zero: any patch will do.
          *reinterpret_cast<ivec_unaligned*>(offsets + i) =
              slot != no_gradient ? slot * static_cast<std::int32_t>(depth) : ivec{};
        }
#pragma GCC unroll 16
        for (int i = 0; i < group; ++i) sum[i] += g[i] * load(patch + offsets[i]);
      }
#pragma GCC unroll 16
      for (int i = 0; i < group; ++i) store(weights + (first + i) * depth + k, sum[i]);
    }
}

#if SWEETSPOT_LANES == 16
inline void transpose_tile(const float* from, std::int64_t from_stride, float* to,
                           std::int64_t to_stride) {
  __m512 rows[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) rows[i] = _mm512_loadu_ps(from + i * from_stride);
  transpose_registers(rows);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm512_storeu_ps(to + i * to_stride, rows[i]);
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
#include "engine/cpu/kernels/transforms.inl"
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

void copy_rows(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t count,
               float* to, std::int64_t to_stride) {
  constexpr std::int64_t ahead = 8;
  for (std::int64_t r = 0; r < rows; ++r, from += from_stride, to += to_stride)
    for (std::int64_t i = 0; i < count; i += unit) {
      __builtin_prefetch(from + ahead * from_stride + i);
      for (int v = 0; v < unit; v += lanes) store(to + i + v, load(from + i + v));
    }
}

template <bool adds>
void take_lanes_of(TakenLanes t) {
  ivec taken[vectors];
  for (int v = 0; v < vectors; ++v)
    for (int lane = 0; lane < lanes; ++lane) taken[v][lane] = v * lanes + lane < t.lanes ? -1 : 0;
  for (std::int64_t r = 0; r < t.rows; ++r, t.from += t.from_stride, t.to += t.to_stride)
    for (int v = 0; v < vectors; ++v) {
      const vec x = taken[v] != 0 ? load(t.from + v * lanes) : vec{};
      store(t.to + v * lanes, adds ? load(t.to + v * lanes) + x : x);
    }
}
void take_lanes(const TakenLanes& t) { t.adds ? take_lanes_of<true>(t) : take_lanes_of<false>(t); }

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

void scale_kept(const float* from, const std::uint16_t* keep, float scale, std::int64_t count,
                float* to) {
  for (std::int64_t i = 0; i < count; i += unit)
    for (int v = 0; v < unit; v += lanes)
      store(to + i + v, where_set(keep[i / unit] >> v, load(from + i + v) * scale));
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
#include "engine/cpu/kernels/repeat.inl"
//
#include "engine/cpu/kernels/adam.inl"

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

void adam(const AdamStep& step, std::int64_t count, const float* gradient, float* weight,
          float* mean, float* square, const Following& following) {
  const Adam adam{step, gradient, weight, mean, square, following};
  for (std::int64_t i = 0; i < count; i += lanes) adam.update(i);  // every range is whole units
}

}  // namespace

extern const Kernels SWEETSPOT_KERNELS;
const Kernels SWEETSPOT_KERNELS = {SWEETSPOT_KERNELS_NAME,
                                   multiply,
                                   multiply_two,
                                   outer,
                                   outer_two,
                                   dot,
                                   narrow,
                                   pool_windows,
                                   multiply_pooled,
                                   mask_gradients,
                                   sparse_weights,
                                   sparse_data,
                                   patch_weights,
                                   transpose,
                                   winograd_weights,
                                   winograd_input,
                                   winograd_output,
                                   filter_weights,
                                   filter_input,
                                   filter_output,
                                   filter_gradient,
                                   filter_weight_gradient,
                                   keep_mask,
                                   add,
                                   stream,
                                   copy_rows,
                                   take_lanes,
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
                                    scale_shift, scale_lanes, repeat_lanes, add_repeated,
                                    normal_noise, add_penalty, penalty}};

}  // namespace sweetspot::engine::cpu
