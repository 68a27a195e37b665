#include "engine/cuda/kernels/activation.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/loss.cuh"

// The last dense layer has a handful of outputs: a warp takes a sample through product, softmax,
// loss, and back to the gradient of the layer's input, with the weights in shared memory.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

// One sample's loss and correctness, and the scaled gradient of the outputs `y`. Every calling
// thread does the same.
template <int padded>
__device__ void loss_of(const Head& h, int sample, const float (&y)[padded], float& loss,
                        bool& right, float (&gradient)[padded]) {
  const std::uint32_t row = h.source.row(sample);
  const float* target =
      h.source.targets ? h.source.targets + std::int64_t{row} * h.outputs : nullptr;
  int best = 0, label = target ? 0 : h.source.labels[row];
  float largest = y[0], highest = target ? target[0] : 0, weight = target ? 0.f : 1.f;
  float t[padded];
#pragma unroll
  for (int n = 0; n < padded; ++n) {
    t[n] = n >= h.outputs ? 0.f : target ? target[n] : static_cast<float>(n == label);
    if (n > 0 && n < h.outputs && y[n] > largest) largest = y[n], best = n;
    if (target && n > 0 && n < h.outputs && t[n] > highest) highest = t[n], label = n;
    if (target) weight += t[n];
  }
  float probability[padded], sum = 0;
#pragma unroll
  for (int n = 0; n < padded; ++n) {
    probability[n] = n >= h.outputs ? 0.f : h.softmax ? expf(y[n] - largest) : y[n];
    sum += probability[n];
  }
#pragma unroll
  for (int n = 0; n < padded; ++n)
    if (h.softmax) probability[n] /= sum;
  loss = 0;
  float inner = 0;
  if (h.loss == LossKind::cross_entropy) {
    const float log_sum = largest + logf(sum);
#pragma unroll
    for (int n = 0; n < padded; ++n) {
      if (t[n] != 0) loss += t[n] * (log_sum - y[n]);
      gradient[n] = probability[n] * weight - t[n];
    }
  } else {
#pragma unroll
    for (int n = 0; n < padded; ++n) {
      const float error = n < h.outputs ? probability[n] - t[n] : 0.f;
      loss += error * error / h.outputs;
      gradient[n] = 2 * error / h.outputs;
      inner += gradient[n] * probability[n];
    }
#pragma unroll
    for (int n = 0; n < padded; ++n)
      if (h.softmax) gradient[n] = probability[n] * (gradient[n] - inner);
  }
  right = best == label;
  const float scale = h.logit_gradient ? h.state->loss_scale / h.batch : 0.f;
#pragma unroll
  for (int n = 0; n < padded; ++n) gradient[n] = n < h.outputs ? gradient[n] * scale : 0.f;
}

// The same with output n in lane n of each half of the warp: its gradient.
struct LaneLoss {
  float gradient, loss;
  bool right;
};
__device__ LaneLoss lane_loss(const Head& h, const float* target, int label, float y) {
  constexpr int lanes = 16;
  const int n = threadIdx.x % lanes;
  const bool real = n < h.outputs;
  const auto sum = [](float v) {
#pragma unroll
    for (int apart = lanes / 2; apart > 0; apart /= 2) v += __shfl_xor_sync(~0u, v, apart);
    return v;
  };
  const auto first_best = [](float& value) {
    int index = threadIdx.x % lanes;
#pragma unroll
    for (int apart = lanes / 2; apart > 0; apart /= 2) {
      const float other = __shfl_xor_sync(~0u, value, apart);
      const int at = __shfl_xor_sync(~0u, index, apart);
      if (other > value || (other == value && at < index)) value = other, index = at;
    }
    return index;
  };
  const float t = !real ? 0.f : target ? target[n] : static_cast<float>(n == label);
  float largest = real ? y : -INFINITY, highest = real ? t : -INFINITY;
  const int best = first_best(largest);
  if (target) label = first_best(highest);
  const float raw = !real ? 0.f : h.softmax ? expf(y - largest) : y;
  const float total = sum(raw), probability = h.softmax ? raw / total : raw;
  LaneLoss found;
  if (h.loss == LossKind::cross_entropy) {
    const float weight = target ? sum(t) : 1.f;
    found.loss = sum(t != 0 ? t * (largest + logf(total) - y) : 0.f);
    found.gradient = probability * weight - t;
  } else {
    const float error = real ? probability - t : 0.f;
    found.loss = sum(error * error / h.outputs);
    found.gradient = 2 * error / h.outputs;
    const float inner = sum(found.gradient * probability);
    if (h.softmax) found.gradient = probability * (found.gradient - inner);
  }
  found.right = best == label;
  const float scale = h.logit_gradient ? h.state->loss_scale / h.batch : 0.f;
  found.gradient = real ? found.gradient * scale : 0.f;
  return found;
}

// All of a thread's elements of the previous layer at once, so that no load waits for another: from
// biases to values, and from dropout masks to gradient masks.
template <int most>
__device__ void finish_inputs(const Head& h, std::int64_t first, float (&x)[most],
                              bool (&passes)[most]) {
  constexpr int at_once = 4;
  for (int slice = 0; slice < h.slice_count; slice += at_once) {
    float part[at_once][most];
#pragma unroll
    for (int s = 0; s < at_once; ++s)
#pragma unroll
      for (int i = 0; i < most; ++i) {
        const int k = i * threads + threadIdx.x;
        part[s][i] = k < h.depth && slice + s < h.slice_count
                         ? h.slices[(slice + s) * h.slice_stride + first + k]
                         : 0.f;
      }
#pragma unroll
    for (int s = 0; s < at_once; ++s)
#pragma unroll
      for (int i = 0; i < most; ++i) x[i] += part[s][i];
  }
#pragma unroll
  for (int i = 0; i < most; ++i) {
    const int k = i * threads + threadIdx.x;
    if (k >= h.depth) break;
    bool pass = true;
    if (h.input_relu) x[i] = rectified(x[i]), pass = x[i] != 0;
    if (h.dropout.threshold) {
      x[i] = passes[i] ? x[i] * h.dropout.scale : 0.f;
      pass = pass && passes[i];
    }
    passes[i] = pass;
    h.value[first + k] = x[i];
  }
}

// The sums over a warp, a quarter of the outputs in each quarter of the lanes: while the lanes'
// shares are added, each half keeps half of the rest, which takes a third of the shuffles of doing
// it output by output, in the same order.
template <int Fours>
struct QuarterSums {
  float sums[Fours];
  __device__ explicit QuarterSums(const float (&y)[4 * Fours]) {
    const bool upper = threadIdx.x & 16, odd = threadIdx.x & 8;
    float half[2 * Fours];
#pragma unroll
    for (int n = 0; n < 2 * Fours; ++n) {
      const float mine = upper ? y[n + 2 * Fours] : y[n], theirs = upper ? y[n] : y[n + 2 * Fours];
      half[n] = mine + __shfl_xor_sync(~0u, theirs, 16);
    }
#pragma unroll
    for (int n = 0; n < Fours; ++n) {
      const float mine = odd ? half[n + Fours] : half[n], theirs = odd ? half[n] : half[n + Fours];
      sums[n] = mine + __shfl_xor_sync(~0u, theirs, 8);
#pragma unroll
      for (int apart = 4; apart > 0; apart /= 2) sums[n] += __shfl_xor_sync(~0u, sums[n], apart);
    }
  }
};

template <int Fours>  // padded outputs, in groups of four
__global__ void __launch_bounds__(threads) head_kernel(const __grid_constant__ Head h) {
  extern __shared__ __align__(16) float weights[];  // (depth, outputs padded)
  constexpr int padded = 4 * Fours;
  for (int i = threadIdx.x; i < h.depth * Fours; i += threads)
    reinterpret_cast<float4*>(weights)[i] = reinterpret_cast<const float4*>(h.weights)[i];
  wait_for_predecessor();
  if (blockIdx.x + 1 == gridDim.x) return prepare_update(h);
  __syncthreads();
  const int sample = blockIdx.x * warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (sample >= h.count) return;

  float y[padded] = {};
  const std::int64_t first = static_cast<std::int64_t>(sample) * h.depth;
#pragma unroll 4
  for (int k = lane; k < h.depth; k += 32) {
    const float x = h.input[first + k];
#pragma unroll
    for (int n = 0; n < padded; ++n) y[n] += x * weights[k * padded + n];
  }
#pragma unroll
  for (int n = 0; n < padded; ++n)
    y[n] = warp_sum(y[n]) + (h.bias && n < h.outputs ? h.bias[n] : 0);

  float loss, gradient[padded];
  bool right;
  loss_of(h, sample, y, loss, right, gradient);
  if (lane == 0) h.losses[sample] = loss, h.correct[sample] = right;
  if (!h.logit_gradient) return;
  if (lane == 0)
#pragma unroll
    for (int n = 0; n < padded; ++n)
      h.logit_gradient[static_cast<std::int64_t>(sample) * padded + n] = gradient[n];
  if (!h.input_gradient) return;
  for (int k = lane; k < h.depth; k += 32) {
    float g = 0;
#pragma unroll
    for (int n = 0; n < padded; ++n) g += gradient[n] * weights[k * padded + n];
    h.input_gradient[first + k] = through_activation(
        h.input_function, h.input_function == Function::linear ? 0.f : h.input[first + k],
        g * h.input_scale);
  }
}

// The same with one block per sample: a thread has up to four elements of the input and their rows
// of the weights. For small batches, where a single warp would take too long, and for slices left
// by the previous layer. Everything that does not depend on that layer is loaded before it ends.
template <int Fours>
__global__ void __launch_bounds__(threads) small_head_kernel(const __grid_constant__ Head h) {
  constexpr int padded = 4 * Fours, most = head_most_depth / threads;
  __shared__ float sums[padded][warps];
  if (blockIdx.x + 1 == gridDim.x) {
    prepare_update(h);
    return wait_for_predecessor();
  }
  const int sample = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t first = static_cast<std::int64_t>(sample) * h.depth;
  float4 weights[most][Fours];
  float before[most] = {};
  bool survive[most] = {};
#pragma unroll
  for (int i = 0; i < most; ++i) {
    const int k = i * threads + threadIdx.x;
    if (i * threads >= h.depth) break;
#pragma unroll
    for (int n = 0; n < Fours; ++n)
      weights[i][n] =
          k < h.depth ? reinterpret_cast<const float4*>(h.weights)[k * Fours + n] : float4{};
    before[i] = h.slice_count && h.input_bias && k < h.depth ? h.input_bias[k] : 0.f;
    survive[i] = h.slice_count && h.dropout.threshold && survives(h.dropout, sample, k);
  }
  const std::uint32_t row = h.source.row(sample);
  const float* target =
      h.source.targets ? h.source.targets + std::int64_t{row} * h.outputs : nullptr;
  const int label = target ? 0 : h.source.labels[row];
  const float bias = h.bias && lane % 16 < h.outputs ? h.bias[lane % 16] : 0.f;
  wait_for_predecessor();
  if (h.slice_count) finish_inputs(h, first, before, survive);
  float y[padded] = {};
#pragma unroll
  for (int i = 0; i < most; ++i) {
    const int k = i * threads + threadIdx.x;
    if (k >= h.depth) break;
    const float x = h.slice_count ? before[i] : h.input[first + k];
#pragma unroll
    for (int n = 0; n < Fours; ++n) {
      y[4 * n] += x * weights[i][n].x, y[4 * n + 1] += x * weights[i][n].y;
      y[4 * n + 2] += x * weights[i][n].z, y[4 * n + 3] += x * weights[i][n].w;
    }
  }
  const QuarterSums<Fours> of(y);
#pragma unroll
  for (int n = 0; n < Fours; ++n)
    if (lane % 8 == 0) sums[lane / 8 * Fours + n][warp] = of.sums[n];
  __syncthreads();
  float output = bias;
  if (lane % 16 < padded)
#pragma unroll
    for (int w = 0; w < warps; ++w) output += sums[lane % 16][w];
  const LaneLoss found = lane_loss(h, target, label, output);
  if (threadIdx.x == 0) h.losses[sample] = found.loss, h.correct[sample] = found.right;
  if (!h.logit_gradient) return;
  if (threadIdx.x < padded)
    h.logit_gradient[static_cast<std::int64_t>(sample) * padded + threadIdx.x] = found.gradient;
  if (!h.input_gradient) return;
  float gradient[padded];
#pragma unroll
  for (int n = 0; n < padded; ++n) gradient[n] = __shfl_sync(~0u, found.gradient, n);
#pragma unroll
  for (int i = 0; i < most; ++i) {
    const int k = i * threads + threadIdx.x;
    if (k >= h.depth) break;
    float g = 0;
#pragma unroll
    for (int n = 0; n < Fours; ++n)
      g += gradient[4 * n] * weights[i][n].x + gradient[4 * n + 1] * weights[i][n].y +
           gradient[4 * n + 2] * weights[i][n].z + gradient[4 * n + 3] * weights[i][n].w;
    g = h.slice_count && !survive[i] ? 0.f : g * h.input_scale;
    if (h.input_function != Function::linear)
      g = through_activation(h.input_function, h.input[first + k], g);
    h.input_gradient[first + k] = g;
  }
}

template <int Fours>
cudaError_t launch_as(const Head& h, cudaStream_t stream) {
  constexpr int most = head_most_depth * Fours * 16;
  static const cudaError_t allowed =
      cudaFuncSetAttribute(head_kernel<Fours>, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  if (allowed != cudaSuccess) return allowed;
  const int few_samples = 3 * current_chip().multiprocessors;
  if (h.slice_count || h.count <= few_samples)
    return launch(small_head_kernel<Fours>, h.count + 1, threads, 0, stream, h);
  return launch(head_kernel<Fours>, (h.count + warps - 1) / warps + 1, threads,
                h.depth * Fours * 16, stream, h);
}

}  // namespace

cudaError_t launch_head(const Head& h, cudaStream_t stream) {
  switch ((h.outputs + 3) / 4) {
    case 1:
      return launch_as<1>(h, stream);
    case 2:
      return launch_as<2>(h, stream);
    case 3:
      return launch_as<3>(h, stream);
    default:
      return launch_as<4>(h, stream);
  }
}

}  // namespace sweetspot::engine::cuda
