#include "engine/cuda/kernels/each.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/layers.h"
#include "engine/cuda/kernels/loss.cuh"
#include "engine/cuda/kernels/vectors.cuh"

// Elementwise layers and those that move values: one thread per output element.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = each_threads;

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
      return k < f.threshold ? f.slope : k > f.most ? 0.f : 1.f;
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
      y = {c < f.channels ? y.x : 0.f, c + 1 < f.channels ? y.y : 0.f,
           c + 2 < f.channels ? y.z : 0.f, c + 3 < f.channels ? y.w : 0.f};
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
    const uint4 words = dropout_words(f.dropout, sample, e);
    const std::uint32_t word[4] = {words.x, words.y, words.z, words.w};
    const std::int64_t first = std::int64_t{sample} * f.sample_floats + e;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (e + 16 * k >= f.sample_floats) break;
      const std::int64_t at = first + 16 * k;
      const float known = f.known[at];
      const float v =
          backward ? f.gradient[at] * slope_of(f.function, known) : value_of(f.function, known);
      f.to[at] = word[k] >= f.dropout.threshold ? v * f.dropout.scale : 0.f;
    }
  }
}
template <bool backward>
cudaError_t launch_with_dropout(const FunctionPass& f, cudaStream_t stream) {
  FunctionQuads q{f, static_cast<std::uint32_t>((f.sample_floats + 63) / 64 * 16), 0, {}};
  q.all = std::int64_t{f.samples} * q.quads, q.by_quads = Divider(q.quads);
  return launch(function_dropout_kernel<backward>, blocks_for(q.all), threads, 0, stream, q);
}

__global__ void scale_shift_kernel(const __grid_constant__ ScaleShift s) {
  wait_for_predecessor();
  EACH(i, s.count)
  s.to[i] = i % s.padded < s.channels ? s.from[i] * s.scale + s.shift : 0.f;
}

// The position of element i of a tensor.
struct At {
  std::int64_t sample;
  int y, x, c;
};
__device__ At at(const Plane& p, std::int64_t i) {
  const std::int64_t position = i / p.pitch;
  const int c = static_cast<int>(i - position * p.pitch);
  const std::int64_t line = position / p.width;
  const std::int64_t sample = line / p.height;
  return {sample, static_cast<int>(line - sample * p.height),
          static_cast<int>(position - line * p.width), c};
}
__device__ std::int64_t index(const Plane& p, std::int64_t sample, int y, int x, int c) {
  return ((sample * p.height + y) * p.width + x) * p.pitch + c;
}

// Elements e and e + 16 of each 32 are a Box-Muller pair, as on the CPU.
__global__ void noise_kernel(const __grid_constant__ NoisePass n) {
  wait_for_predecessor();
  EACH(i, std::int64_t{n.count} * n.plane.floats()) {
    const At a = at(n.plane, i);
    float noise = 0;
    if (a.c < n.plane.channels) {
      const auto e =
          static_cast<std::uint32_t>((a.y * n.mask.full_width + a.x) * n.plane.channels + a.c);
      const uint4 words = dropout_words(n.mask, static_cast<std::uint32_t>(a.sample), e);
      const bool upper = e / 32 % 2;
      const std::uint32_t first = upper ? words.z : words.x, second = upper ? words.w : words.y;
      const float u = (static_cast<float>(first >> 8) + 1) * 0x1p-24f;
      const float v = static_cast<float>(second >> 8) * 0x1p-24f - 0.5f;
      float sine, cosine;
      sincospif(2 * v, &sine, &cosine);
      noise = n.stddev * sqrtf(-2 * logf(u)) * (e / 16 % 2 ? sine : cosine);
    }
    n.to[i] = n.from[i] + noise;
  }
}

__global__ void channel_dropout_kernel(const __grid_constant__ NoisePass n) {
  wait_for_predecessor();
  EACH(i, std::int64_t{n.count} * n.plane.floats()) {
    const At a = at(n.plane, i);
    const bool keep =
        a.c < n.plane.channels &&
        survives(n.mask, static_cast<std::uint32_t>(a.sample), static_cast<std::uint32_t>(a.c));
    n.to[i] = keep ? n.from[i] * n.mask.scale : 0.f;
  }
}

__global__ void border_kernel(const __grid_constant__ BorderPass b) {
  wait_for_predecessor();
  EACH(i, std::int64_t{b.count} * b.out.floats()) {
    const At a = at(b.out, i);
    const int y = a.y - b.top, x = a.x - b.left;
    const bool inside = y >= 0 && x >= 0 && y % b.spread_h == 0 && x % b.spread_w == 0 &&
                        y / b.spread_h < b.in.height && x / b.spread_w < b.in.width;
    b.to[i] = inside ? b.from[index(b.in, a.sample, y / b.spread_h, x / b.spread_w, a.c)] : 0.f;
  }
}
__global__ void border_backward_kernel(const __grid_constant__ BorderPass b) {
  wait_for_predecessor();
  EACH(i, std::int64_t{b.count} * b.in.floats()) {
    const At a = at(b.in, i);
    const int y = a.y * b.spread_h + b.top, x = a.x * b.spread_w + b.left;
    const bool inside = y >= 0 && x >= 0 && y < b.out.height && x < b.out.width;
    b.to[i] = inside ? b.from[index(b.out, a.sample, y, x, a.c)] : 0.f;
  }
}

__global__ void repeat_kernel(const __grid_constant__ RepeatPass r) {
  wait_for_predecessor();
  EACH(i, std::int64_t{r.count} * r.out.floats()) {
    const At a = at(r.out, i);
    r.to[i] = a.c < r.out.channels
                  ? r.from[index(r.in, a.sample, a.y / r.height, a.x / r.width, a.c / r.channels)]
                  : 0.f;
  }
}
__global__ void repeat_backward_kernel(const __grid_constant__ RepeatPass r) {
  wait_for_predecessor();
  EACH(i, std::int64_t{r.count} * r.in.floats()) {
    const At a = at(r.in, i);
    float sum = 0;
    // Parts of the last repeated row and column may be dead.
    for (int y = a.y * r.height; y < min((a.y + 1) * r.height, r.out.height); ++y)
      for (int x = a.x * r.width; x < min((a.x + 1) * r.width, r.out.width); ++x)
        for (int c = a.c * r.channels; a.c < r.in.channels && c < (a.c + 1) * r.channels; ++c)
          sum += r.from[index(r.out, a.sample, y, x, c)];
    r.to[i] = sum;
  }
}

__global__ void rearrange_kernel(const __grid_constant__ RearrangePass r) {
  wait_for_predecessor();
  EACH(i, std::int64_t{r.count} * r.out.floats()) {
    const At a = at(r.out, i);
    const int e = a.y * r.strides[0] + a.x * r.strides[1] + a.c * r.strides[2];
    const int position = e / r.in.channels;
    r.to[i] = a.c < r.out.channels
                  ? r.from[a.sample * r.in.floats() + std::int64_t{position} * r.in.pitch +
                           (e - position * r.in.channels)]
                  : 0.f;
  }
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
      if (i % n.pitch < n.channels) squares += (x[i] - mean) * (x[i] - mean);
    const float rate = 1 / sqrtf(warp_sum(squares) / count + n.epsilon);
    if (lane == 0 && n.mean) n.mean[group] = mean, n.rate[group] = rate;
    for (int i = lane; i < n.floats; i += 32)
      n.output[group * n.floats + i] =
          i % n.pitch < n.channels
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
      if (i % n.pitch >= n.channels) continue;
      const float scaled = g[i] * (n.gamma ? n.gamma[i] : 1.f);
      sum += scaled, product += scaled * (x[i] - mean) * rate;
    }
    sum = warp_sum(sum) / count, product = warp_sum(product) / count;
    for (int i = lane; i < n.floats; i += 32)
      n.input_gradient[group * n.floats + i] =
          i % n.pitch < n.channels
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
  if (i < n.floats && i % n.pitch < n.channels)
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

__global__ void prelu_kernel(const __grid_constant__ PreluPass p) {
  wait_for_predecessor();
  EACH(i, std::int64_t{p.count} * p.plane.floats()) {
    const At a = at(p.plane, i);
    const float x = p.input[i];
    const float alpha = a.c < p.plane.channels
                            ? p.alpha[a.y * p.stride_y + a.x * p.stride_x + a.c * p.stride_c]
                            : 0.f;
    if (p.output) p.output[i] = x > 0 ? x : alpha * x;
    if (p.input_gradient) p.input_gradient[i] = x > 0 ? p.gradient[i] : alpha * p.gradient[i];
  }
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
    float sum = 0;
    // The others are never read; some of them pad the variable.
    if (alpha < p.alphas && y0 < plane.height && x0 < plane.width)
      for (std::int64_t k = elements * split / p.splits; k < elements * (split + 1) / p.splits;
           ++k) {
        const int c = c0 + static_cast<int>(k % deep);
        std::int64_t rest = k / deep;
        const int x = x0 + static_cast<int>(rest % wide);
        rest /= wide;
        const std::int64_t place =
            index(plane, rest / high, y0 + static_cast<int>(rest % high), x, c);
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
  return launch(scale_shift_kernel, blocks_for(s.count), threads, 0, stream, s);
}
cudaError_t launch_noise(const NoisePass& n, cudaStream_t stream) {
  return launch(noise_kernel, blocks_for(std::int64_t{n.count} * n.plane.floats()), threads, 0,
                stream, n);
}
cudaError_t launch_channel_dropout(const NoisePass& n, cudaStream_t stream) {
  return launch(channel_dropout_kernel, blocks_for(std::int64_t{n.count} * n.plane.floats()),
                threads, 0, stream, n);
}
cudaError_t launch_border(const BorderPass& b, cudaStream_t stream) {
  return launch(border_kernel, blocks_for(std::int64_t{b.count} * b.out.floats()), threads, 0,
                stream, b);
}
cudaError_t launch_border_backward(const BorderPass& b, cudaStream_t stream) {
  return launch(border_backward_kernel, blocks_for(std::int64_t{b.count} * b.in.floats()), threads,
                0, stream, b);
}
cudaError_t launch_repeat(const RepeatPass& r, cudaStream_t stream) {
  return launch(repeat_kernel, blocks_for(std::int64_t{r.count} * r.out.floats()), threads, 0,
                stream, r);
}
cudaError_t launch_repeat_backward(const RepeatPass& r, cudaStream_t stream) {
  return launch(repeat_backward_kernel, blocks_for(std::int64_t{r.count} * r.in.floats()), threads,
                0, stream, r);
}
cudaError_t launch_rearrange(const RearrangePass& r, cudaStream_t stream) {
  return launch(rearrange_kernel, blocks_for(std::int64_t{r.count} * r.out.floats()), threads, 0,
                stream, r);
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
  return launch(prelu_kernel, blocks_for(std::int64_t{p.count} * p.plane.floats()), threads, 0,
                stream, p);
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
