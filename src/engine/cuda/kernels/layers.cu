#include "engine/cuda/kernels/grid_stride.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/layers.h"
#include "engine/cuda/kernels/loss.cuh"
#include "engine/cuda/kernels/planes.cuh"

// Elementwise layers, layer normalisation and penalties.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = each_threads;
static_assert(threads == row_threads);

using Kind = engine::ElementFunction::Kind;
constexpr float selu_scale = 1.05070098f, selu_alpha = 1.67326324f;
constexpr float root_of_two_over_pi = 0.797884561f, gelu_cubic = 0.044715f;

__device__ float value_of(const engine::ElementFunction& f, float x) {
  switch (f.kind) {
    case Kind::rectified:
      return x < f.threshold ? f.slope * (x - f.threshold) : x > f.most ? f.most : x;
    case Kind::elu:
      return x > 0 ? x : f.slope * expm1f(x);
    case Kind::selu:
      return selu_scale * (x > 0 ? x : selu_alpha * expm1f(x));
    case Kind::gelu:
      return 0.5f * x * (1 + erff(x * 0.707106781f));
    case Kind::gelu_tanh:
      return 0.5f * x * (1 + tanhf(root_of_two_over_pi * x * (1 + gelu_cubic * x * x)));
    case Kind::swish:
      return x / (1 + expf(-x));
    case Kind::softplus:
      return fmaxf(x, 0.f) + log1pf(expf(-fabsf(x))) + (x != x ? x : 0.f);
    case Kind::softsign:
      return x / (1 + fabsf(x));
    case Kind::exponential:
      return expf(x);
    case Kind::hard_sigmoid: {
      const float y = f.slope * x + 0.5f;
      return y < 0 ? 0.f : y > 1 ? 1.f : y;
    }
  }
  return x;
}

__device__ float slope_of(const engine::ElementFunction& f, float k) {
  switch (f.kind) {
    case Kind::rectified:
      return k <= f.threshold ? f.slope : k >= f.most ? 0.f : 1.f;
    case Kind::elu:
      return k > 0 ? 1.f : k + f.slope;
    case Kind::selu:
      return k > 0 ? selu_scale : k + selu_scale * selu_alpha;
    case Kind::gelu:
      return 0.5f * (1 + erff(k * 0.707106781f)) + k * 0.398942280f * expf(-0.5f * k * k);
    case Kind::gelu_tanh: {
      const float t = tanhf(root_of_two_over_pi * k * (1 + gelu_cubic * k * k));
      return 0.5f * (1 + t) +
             0.5f * k * (1 - t * t) * root_of_two_over_pi * (1 + 3 * gelu_cubic * k * k);
    }
    case Kind::swish: {
      const float s = 1 / (1 + expf(-k));
      return s * (1 + k * (1 - s));
    }
    case Kind::softplus:
      return -expm1f(-k);
    case Kind::softsign: {
      const float rest = 1 - fabsf(k);
      return rest * rest;
    }
    case Kind::exponential:
      return k;
    case Kind::hard_sigmoid:
      return k > 0 && k < 1 ? f.slope : 0.f;
  }
  return 1;
}

__global__ void function_kernel(const __grid_constant__ FunctionPass f) {
  wait_for_predecessor();
  EACH(i, f.count / 4) {
    float4 y = each(load4(f.known + 4 * i), [&](float x) { return value_of(f.function, x); });
    if (f.channels != f.padded) {  // the padding stays zero
      const int c = static_cast<int>(4 * i % f.padded);
      y = without_padding(y, c, f.channels);
    }
    store4(f.to + 4 * i, y);
  }
}
__global__ void function_backward_kernel(const __grid_constant__ FunctionPass f) {
  wait_for_predecessor();
  EACH(i, f.count / 4)
  store4(f.to + 4 * i, load4(f.gradient + 4 * i) * each(load4(f.known + 4 * i), [&](float k) {
                         return slope_of(f.function, k);
                       }));
}

// With dropout: one random number decides four elements, as in dropout_whole_kernel.
struct FunctionQuads {
  FunctionPass f;
  std::uint32_t quads;  // random numbers per sample
  std::int64_t all;
  Divider by_quads;
};
template <bool backward>
__global__ void function_dropout_kernel(const __grid_constant__ FunctionQuads q) {
  wait_for_predecessor();
  const FunctionPass& f = q.f;
  EACH(i, q.all) {
    const auto sample = static_cast<std::uint32_t>(
        q.all >> 31 ? i / q.quads : q.by_quads.quotient(static_cast<int>(i)));
    const auto quad = static_cast<std::uint32_t>(i - std::int64_t{sample} * q.quads);
    const std::uint32_t e = quad / 16 * 64 + quad % 16;
    const std::int64_t first = std::int64_t{sample} * f.sample_floats + e;
    float known[4], gradient[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const bool real = e + 16 * k < f.sample_floats;
      known[k] = real ? f.known[first + 16 * k] : 0.f;
      if constexpr (backward) gradient[k] = real ? f.gradient[first + 16 * k] : 0.f;
    }
    const uint4 words = dropout_words(f.dropout, sample, e);
    const std::uint32_t word[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float v =
          backward ? gradient[k] * slope_of(f.function, known[k]) : value_of(f.function, known[k]);
      if (e + 16 * k < f.sample_floats)
        f.to[first + 16 * k] = word[k] >= f.dropout.threshold ? v * f.dropout.scale : 0.f;
    }
  }
}
template <bool backward>
cudaError_t launch_with_dropout(const FunctionPass& f, cudaStream_t stream) {
  FunctionQuads q{f, static_cast<std::uint32_t>((f.sample_floats + 63) / 64 * 16), 0, {}};
  q.all = std::int64_t{f.samples} * q.quads, q.by_quads = Divider(q.quads);
  return launch(function_dropout_kernel<backward>, blocks_for(q.all), threads, 0, stream, q);
}

__global__ void scale_shift_kernel(const __grid_constant__ Rows<ScaleShift> r) {
  wait_for_predecessor();
  const ScaleShift& s = r.pass;
  r.shares.each([&](int row, int c) {
    const std::int64_t at = std::int64_t{row} * s.padded + c;
    const float4 v = each(load4(s.from + at), [&](float x) { return x * s.scale + s.shift; });
    store4(s.to + at, without_padding(v, c, s.channels));
  });
}

// Whether value i of a group is not padding.
__device__ bool counts(const LayerNormPass& n, int i) {
  return n.channels == n.pitch || i % n.pitch < n.channels;
}

// One warp per group.
__global__ void layer_norm_kernel(const __grid_constant__ LayerNormPass n) {
  wait_for_predecessor();
  const int lane = threadIdx.x % 32;
  const float count = static_cast<float>(n.floats / n.pitch) * n.channels;
  const std::int64_t warps = std::int64_t{gridDim.x} * (threads / 32);
  for (std::int64_t group = std::int64_t{blockIdx.x} * (threads / 32) + threadIdx.x / 32;
       group < n.groups; group += warps) {
    const float* x = n.input + group * n.floats;
    float sum = 0, squares = 0;
    for (int i = lane; i < n.floats; i += 32) sum += x[i];
    const float mean = warp_sum(sum) / count;
    for (int i = lane; i < n.floats; i += 32)
      if (counts(n, i)) squares += (x[i] - mean) * (x[i] - mean);
    const float rate = 1 / sqrtf(warp_sum(squares) / count + n.epsilon);
    if (lane == 0 && n.mean) n.mean[group] = mean, n.rate[group] = rate;
    for (int i = lane; i < n.floats; i += 32)
      n.output[group * n.floats + i] =
          counts(n, i)
              ? (x[i] - mean) * rate * (n.gamma ? n.gamma[i] : 1.f) + (n.beta ? n.beta[i] : 0.f)
              : 0.f;
  }
}

__global__ void layer_norm_data_kernel(const __grid_constant__ LayerNormPass n) {
  wait_for_predecessor();
  const int lane = threadIdx.x % 32;
  const float count = static_cast<float>(n.floats / n.pitch) * n.channels;
  const std::int64_t warps = std::int64_t{gridDim.x} * (threads / 32);
  for (std::int64_t group = std::int64_t{blockIdx.x} * (threads / 32) + threadIdx.x / 32;
       group < n.groups; group += warps) {
    const float *x = n.input + group * n.floats, *g = n.gradient + group * n.floats;
    const float mean = n.mean[group], rate = n.rate[group];
    float sum = 0, product = 0;
    for (int i = lane; i < n.floats; i += 32) {
      if (!counts(n, i)) continue;
      const float scaled = g[i] * (n.gamma ? n.gamma[i] : 1.f);
      sum += scaled, product += scaled * (x[i] - mean) * rate;
    }
    sum = warp_sum(sum) / count, product = warp_sum(product) / count;
    for (int i = lane; i < n.floats; i += 32)
      n.input_gradient[group * n.floats + i] =
          counts(n, i)
              ? rate * (g[i] * (n.gamma ? n.gamma[i] : 1.f) - sum - (x[i] - mean) * rate * product)
              : 0.f;
  }
}

// A block has 32 values of the groups and a split of them, in eight shares that are added in order.
constexpr int columns = 32, shares = threads / columns;
__global__ void layer_norm_weights_kernel(const __grid_constant__ LayerNormPass n) {
  __shared__ float products[shares][columns], sums[shares][columns];
  wait_for_predecessor();
  const int blocks = (n.floats + columns - 1) / columns;
  const int split = blockIdx.x / blocks, lane = threadIdx.x % columns;
  const int i = blockIdx.x % blocks * columns + lane, share = threadIdx.x / columns;
  const std::int64_t begin = n.groups * split / n.splits, end = n.groups * (split + 1) / n.splits;
  float product = 0, sum = 0;
  if (i < n.floats && counts(n, i))
    for (std::int64_t group = begin + share; group < end; group += shares) {
      const float g = n.gradient[group * n.floats + i];
      sum += g;
      product += g * (n.input[group * n.floats + i] - n.mean[group]) * n.rate[group];
    }
  products[share][lane] = product, sums[share][lane] = sum;
  __syncthreads();
  if (share > 0 || i >= n.floats) return;
  for (int other = 1; other < shares; ++other)
    product += products[other][lane], sum += sums[other][lane];
  if (n.gamma_partials) n.gamma_partials[std::int64_t{split} * n.floats + i] = product;
  if (n.beta_partials) n.beta_partials[std::int64_t{split} * n.floats + i] = sum;
}

__global__ void prelu_kernel(const __grid_constant__ Rows<PreluPass> r) {
  wait_for_predecessor();
  const PreluPass& p = r.pass;
  r.shares.each([&](int row, int c) {
    const int3 at = r.positions.of(row);
    const std::int64_t place = std::int64_t{row} * p.plane.pitch + c;
    const float* alphas = p.alpha + at.y * p.stride_y + at.x * p.stride_x;
    const auto alpha = [&](int i) {
      return c + i < p.plane.channels ? alphas[(c + i) * p.stride_c] : 0.f;
    };
    const float4 x = load4(p.input + place), a{alpha(0), alpha(1), alpha(2), alpha(3)};
    const float4 slope{x.x > 0 ? 1.f : a.x, x.y > 0 ? 1.f : a.y, x.z > 0 ? 1.f : a.z,
                       x.w > 0 ? 1.f : a.w};
    if (p.output) store4(p.output + place, x * slope);
    if (p.input_gradient) store4(p.input_gradient + place, load4(p.gradient + place) * slope);
  });
}

// One thread per alpha and split of the elements that share it.
__global__ void prelu_weights_kernel(const __grid_constant__ PreluPass p) {
  wait_for_predecessor();
  const Plane& plane = p.plane;
  const int high = p.stride_y ? 1 : plane.height, wide = p.stride_x ? 1 : plane.width,
            deep = p.stride_c ? 1 : plane.channels;
  const std::int64_t elements = std::int64_t{p.count} * high * wide * deep;
  EACH(i, p.splits * p.partial_stride) {
    const int split = static_cast<int>(i / p.partial_stride);
    const int alpha = static_cast<int>(i - split * p.partial_stride);
    const int c0 = p.stride_c ? alpha % p.alpha_c : 0;
    const int x0 = p.stride_x ? alpha / p.alpha_c % p.alpha_w : 0;
    const int y0 = p.stride_y ? alpha / p.alpha_c / p.alpha_w : 0;
    // The place of its k-th element. Channels, or single elements, have theirs at equal distances.
    const auto of = [&](std::int64_t k) {
      if (deep == 1 && high == plane.height && wide == plane.width) return k * plane.pitch + c0;
      if (deep * high * wide == 1) return k * plane.floats() + index(plane, 0, y0, x0, c0);
      const int c = c0 + static_cast<int>(k % deep);
      std::int64_t rest = k / deep;
      const int x = x0 + static_cast<int>(rest % wide);
      rest /= wide;
      return index(plane, static_cast<int>(rest / high), y0 + static_cast<int>(rest % high), x, c);
    };
    float sum = 0;
    // The others are never read; some of them pad the variable.
    if (alpha < p.alphas && y0 < plane.height && x0 < plane.width)
      for (std::int64_t k = elements * split / p.splits; k < elements * (split + 1) / p.splits;
           ++k) {
        const std::int64_t place = of(k);
        const float value = p.input[place];
        if (!(value > 0)) sum += p.gradient[place] * value;
      }
    p.partials[split * p.partial_stride + alpha] = sum;
  }
}

// The penalty of all weights, in blocks with a fixed share each.
__global__ void penalty_sum_kernel(const __grid_constant__ PenaltyPass p) {
  __shared__ double sums[threads];
  wait_for_predecessor();
  double sum = 0;
  for (int k = 0; k < p.penalty_count; ++k) {
    const Penalty& q = p.penalties[k];
    EACH(i, q.count) {
      const float w = p.weights[q.weights + i];
      sum += q.l1 * fabsf(w) + q.l2 * w * w;
    }
  }
  sums[threadIdx.x] = sum;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) p.sums[blockIdx.x] = sums[0];
}
__global__ void penalty_loss_kernel(const __grid_constant__ PenaltyPass p) {
  wait_for_predecessor();
  double penalty = 0;
  for (int i = 0; i < penalty_sums; ++i) penalty += p.sums[i];
  EACH(i, p.samples) p.losses[i] += static_cast<float>(penalty);
}
__global__ void penalty_gradient_kernel(const __grid_constant__ PenaltyPass p) {
  wait_for_predecessor();
  const float scale = p.state->loss_scale;
  for (int k = 0; k < p.penalty_count; ++k) {
    const Penalty& q = p.penalties[k];
    EACH(i, q.count) {
      const float w = p.weights[q.weights + i];
      const float sign = w > 0 ? 1.f : w < 0 ? -1.f : 0.f;
      p.partials[q.partials + i] += scale * (q.l1 * sign + 2 * q.l2 * w);
    }
  }
}

int warp_blocks(std::int64_t groups) { return blocks_for(groups * 32); }

}  // namespace

cudaError_t launch_function(const FunctionPass& f, cudaStream_t stream) {
  if (f.dropout.threshold) return launch_with_dropout<false>(f, stream);
  return launch(function_kernel, blocks_for(f.count / 4), threads, 0, stream, f);
}
cudaError_t launch_function_backward(const FunctionPass& f, cudaStream_t stream) {
  if (f.dropout.threshold) return launch_with_dropout<true>(f, stream);
  return launch(function_backward_kernel, blocks_for(f.count / 4), threads, 0, stream, f);
}
cudaError_t launch_scale_shift(const ScaleShift& s, cudaStream_t stream) {
  const Rows<ScaleShift> r{s, RowShares(s.count / s.padded, s.padded), {}};
  return launch(scale_shift_kernel, r.shares.blocks(), threads, 0, stream, r);
}
// About four blocks per multiprocessor, each with some dozens of groups.
int layer_norm_splits(std::int64_t groups, int floats, int multiprocessors) {
  const std::int64_t blocks = (floats + columns - 1) / columns;
  return static_cast<int>(
      std::clamp<std::int64_t>(4 * multiprocessors / blocks, 1, (groups + 31) / 32));
}
cudaError_t launch_layer_norm(const LayerNormPass& n, cudaStream_t stream) {
  return launch(layer_norm_kernel, warp_blocks(n.groups), threads, 0, stream, n);
}
cudaError_t launch_layer_norm_weights(const LayerNormPass& n, cudaStream_t stream) {
  const int blocks = (n.floats + columns - 1) / columns * n.splits;
  return launch(layer_norm_weights_kernel, blocks, threads, 0, stream, n);
}
cudaError_t launch_layer_norm_data(const LayerNormPass& n, cudaStream_t stream) {
  return launch(layer_norm_data_kernel, warp_blocks(n.groups), threads, 0, stream, n);
}

int prelu_splits(std::int64_t elements, int alphas) {
  constexpr std::int64_t enough_threads = 1 << 16, most = 256;
  return static_cast<int>(std::clamp<std::int64_t>(
      enough_threads / alphas, 1, std::clamp<std::int64_t>(elements / 16, 1, most)));
}
cudaError_t launch_prelu(const PreluPass& p, cudaStream_t stream) {
  const auto r = rows_of(p, p.count, p.plane);
  return launch(prelu_kernel, r.shares.blocks(), threads, 0, stream, r);
}
cudaError_t launch_prelu_backward(const PreluPass& p, cudaStream_t stream) {
  const std::int64_t sums = p.splits * p.partial_stride;
  if (const cudaError_t error =
          launch(prelu_weights_kernel, blocks_for(sums), threads, 0, stream, p))
    return error;
  return p.input_gradient ? launch_prelu(p, stream) : cudaSuccess;
}

cudaError_t launch_penalty_loss(const PenaltyPass& p, cudaStream_t stream) {
  if (const cudaError_t error = launch(penalty_sum_kernel, penalty_sums, threads, 0, stream, p))
    return error;
  return launch(penalty_loss_kernel, blocks_for(p.samples), threads, 0, stream, p);
}
cudaError_t launch_penalty_gradients(const PenaltyPass& p, cudaStream_t stream) {
  std::int64_t most = 0;
  for (int k = 0; k < p.penalty_count; ++k) most = std::max(most, p.penalties[k].count);
  return launch(penalty_gradient_kernel, blocks_for(most), threads, 0, stream, p);
}

}  // namespace sweetspot::engine::cuda
