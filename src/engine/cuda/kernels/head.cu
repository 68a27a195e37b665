#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/loss.cuh"

// The last dense layer has a handful of outputs: a warp takes a sample through product, softmax,
// loss, and back to the gradient of the layer's input, with the weights in shared memory.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

// One sample's loss and whether it is right, and the outputs' gradient, scaled; `y` are the
// outputs. Every thread that calls it does the same.
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

// Element k of the layer before, from the slices of its sums; its value and code are stored on the
// way.
__device__ float finished_input(const Head& h, int sample, std::int64_t first, int k) {
  float x = h.input_bias ? h.input_bias[k] : 0.f;
#pragma unroll 8
  for (int slice = 0; slice < h.slice_count; ++slice)
    x += h.slices[slice * h.slice_stride + first + k];
  std::uint8_t code = 0;
  if (h.input_relu) x = rectified(x), code = x == 0 ? no_gradient : 0;
  if (h.dropout.threshold) {
    if (survives(h.dropout, sample, k))
      x *= h.dropout.scale;
    else
      x = 0, code = no_gradient;
  }
  h.value[first + k] = x;
  if (h.code) h.code[first + k] = code;
  return x;
}

template <int Fours>  // outputs, padded, in fours
__global__ void __launch_bounds__(threads) head_kernel(const __grid_constant__ Head h) {
  extern __shared__ __align__(16) float weights[];  // (depth, outputs padded)
  constexpr int padded = 4 * Fours;
  for (int i = threadIdx.x; i < h.depth * Fours; i += threads)
    reinterpret_cast<float4*>(weights)[i] = reinterpret_cast<const float4*>(h.weights)[i];
  wait_for_predecessor();
  prepare_rate(h);
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
    h.input_gradient[static_cast<std::int64_t>(sample) * h.depth + k] = g * h.input_scale;
  }
}

// The same with a block for each sample: a thread has up to four elements of the input and their
// rows of the weights. For small batches, where a warp alone would take too long, and for what the
// layer before left in slices.
template <int Fours>
__global__ void __launch_bounds__(threads) small_head_kernel(const __grid_constant__ Head h) {
  constexpr int padded = 4 * Fours, most = head_most_depth / threads;
  __shared__ float sums[warps][padded];
  float4 weights[most][Fours];
#pragma unroll
  for (int i = 0; i < most; ++i)
#pragma unroll
    for (int n = 0; n < Fours; ++n) {
      const int k = i * threads + threadIdx.x;
      weights[i][n] =
          k < h.depth ? reinterpret_cast<const float4*>(h.weights)[k * Fours + n] : float4{};
    }
  wait_for_predecessor();
  prepare_rate(h);
  const int sample = blockIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const std::int64_t first = static_cast<std::int64_t>(sample) * h.depth;
  float y[padded] = {};
#pragma unroll
  for (int i = 0; i < most; ++i) {
    const int k = i * threads + threadIdx.x;
    if (k >= h.depth) break;
    const float x = h.slice_count ? finished_input(h, sample, first, k) : h.input[first + k];
#pragma unroll
    for (int n = 0; n < Fours; ++n) {
      y[4 * n] += x * weights[i][n].x, y[4 * n + 1] += x * weights[i][n].y;
      y[4 * n + 2] += x * weights[i][n].z, y[4 * n + 3] += x * weights[i][n].w;
    }
  }
#pragma unroll
  for (int n = 0; n < padded; ++n) {
    y[n] = warp_sum(y[n]);
    if (lane == 0) sums[warp][n] = y[n];
  }
  __syncthreads();
#pragma unroll
  for (int n = 0; n < padded; ++n) {
    y[n] = h.bias && n < h.outputs ? h.bias[n] : 0.f;
#pragma unroll
    for (int w = 0; w < warps; ++w) y[n] += sums[w][n];
  }
  float loss, gradient[padded];
  bool right;
  loss_of(h, sample, y, loss, right, gradient);
  if (threadIdx.x == 0) h.losses[sample] = loss, h.correct[sample] = right;
  if (!h.logit_gradient) return;
  if (threadIdx.x == 0)
#pragma unroll
    for (int n = 0; n < padded; ++n)
      h.logit_gradient[static_cast<std::int64_t>(sample) * padded + n] = gradient[n];
  if (!h.input_gradient) return;
#pragma unroll
  for (int i = 0; i < most; ++i) {
    const int k = i * threads + threadIdx.x;
    if (k >= h.depth) break;
    float g = 0;
#pragma unroll
    for (int n = 0; n < Fours; ++n)
      g += gradient[4 * n] * weights[i][n].x + gradient[4 * n + 1] * weights[i][n].y +
           gradient[4 * n + 2] * weights[i][n].z + gradient[4 * n + 3] * weights[i][n].w;
    h.input_gradient[first + k] = g * h.input_scale;
  }
}

template <int Fours>
cudaError_t launch_as(const Head& h, cudaStream_t stream) {
  constexpr int most = head_most_depth * Fours * 16;
  static const cudaError_t allowed =
      cudaFuncSetAttribute(head_kernel<Fours>, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  if (allowed != cudaSuccess) return allowed;
  constexpr int few_samples = 3 * 132;
  if (h.slice_count || h.count <= few_samples)
    return launch(small_head_kernel<Fours>, h.count, threads, 0, stream, h);
  return launch(head_kernel<Fours>, (h.count + warps - 1) / warps, threads, h.depth * Fours * 16,
                stream, h);
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
