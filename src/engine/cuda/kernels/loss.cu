#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/loss.cuh"

namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

struct Arguments {
  Head h;
  LossTensors t;
};

struct Best {
  float value;
  int index;
};
// The first of the largest.
__device__ Best warp_best(Best b) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    const float value = __shfl_xor_sync(0xffffffffu, b.value, apart);
    const int index = __shfl_xor_sync(0xffffffffu, b.index, apart);
    if (value > b.value || (value == b.value && index < b.index)) b = {value, index};
  }
  return b;
}

// Any number of outputs, one warp per sample.
__global__ void __launch_bounds__(threads) loss_kernel(const __grid_constant__ Arguments a) {
  wait_for_predecessor();
  const Head& h = a.h;
  if (blockIdx.x + 1 == gridDim.x) return prepare_update(h);
  const int sample = blockIdx.x * warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (sample >= h.count) return;
  const int size = a.t.positions * a.t.channels, floats = a.t.positions * a.t.padded;
  const float* x = a.t.outputs + static_cast<std::int64_t>(sample) * floats;
  const auto place = [&](int i) { return i / a.t.channels * a.t.padded + i % a.t.channels; };
  const std::uint32_t row = h.source.row(sample);
  const float* target = h.source.targets ? h.source.targets + std::int64_t{row} * size : nullptr;
  int label = target ? 0 : h.source.labels[row];
  const auto wanted = [&](int i) { return target ? target[i] : static_cast<float>(i == label); };

  Best best{-INFINITY, size}, highest{-INFINITY, size};
  float weight = 0;
  for (int i = lane; i < size; i += 32) {
    if (x[place(i)] > best.value) best = {x[place(i)], i};
    if (target && target[i] > highest.value) highest = {target[i], i};
    weight += wanted(i);
  }
  best = warp_best(best), weight = warp_sum(weight);
  if (target) label = warp_best(highest).index;
  double sum = 0;
  for (int i = lane; h.softmax && i < size; i += 32) sum += expf(x[place(i)] - best.value);
  sum = warp_sum(sum);
  const double log_sum = best.value + log(sum);
  const auto output = [&](int i) {
    return h.softmax ? static_cast<float>(expf(x[place(i)] - best.value) / sum) : x[place(i)];
  };
  double loss = 0;
  float inner = 0;
  const bool entropy = h.loss == LossKind::cross_entropy;
  for (int i = lane; i < size; i += 32) {
    const float t = wanted(i);
    if (entropy) {
      if (t != 0) loss += t * (log_sum - x[place(i)]);
    } else {
      const float y = output(i), error = y - t;
      loss += static_cast<double>(error) * error / size;
      inner += 2 * error / size * y;
    }
  }
  loss = warp_sum(loss), inner = warp_sum(inner);
  if (lane == 0)
    h.losses[sample] = static_cast<float>(loss), h.correct[sample] = best.index == label;
  if (!a.t.gradient) return;
  const float scale = h.state->loss_scale / h.batch;
  float* gradient = a.t.gradient + static_cast<std::int64_t>(sample) * floats;
  for (int i = lane; i < floats; i += 32) gradient[i] = 0;
  __syncwarp();
  for (int i = lane; i < size; i += 32) {
    const float y = output(i), t = wanted(i);
    float g = entropy ? y * weight - t : 2 * (y - t) / size;
    if (!entropy && h.softmax) g = y * (g - inner);
    gradient[place(i)] = g * scale;
  }
}

}  // namespace

cudaError_t launch_loss(const Head& head, const LossTensors& tensors, cudaStream_t stream) {
  return launch(loss_kernel, (head.count + warps - 1) / warps + 1, threads, 0, stream,
                Arguments{head, tensors});
}

}  // namespace sweetspot::engine::cuda
