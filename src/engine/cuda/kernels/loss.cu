#include <algorithm>

#include "engine/cuda/kernels/loss.cuh"
#include "engine/cuda/kernels/loss_slices.h"
#include "engine/cuda/kernels/vectors.cuh"

namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;
// With more outputs a block has one sample instead of one per warp.
constexpr int warp_outputs = 64;

struct Best {
  float value;
  int index;
};
// The first of the largest.
__device__ Best better(Best a, Best b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}
__device__ Best warp_best(Best b) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2)
    b = better(b, {__shfl_xor_sync(0xffffffffu, b.value, apart),
                   __shfl_xor_sync(0xffffffffu, b.index, apart)});
  return b;
}

// What all threads of a block have, merged in a fixed order.
template <class T, class InWarp, class Merge>
__device__ T merged(T v, InWarp in_warp, Merge merge) {
  __shared__ T parts[warps];
  v = in_warp(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = parts[0];
  for (int w = 1; w < warps; ++w) v = merge(v, parts[w]);
  return v;
}
template <class T>
__device__ T block_sum(T v) {
  return merged(
      v, [](T x) { return warp_sum(x); }, [](T a, T b) { return a + b; });
}
__device__ Best block_best(Best b) { return merged(b, warp_best, better); }

struct Arguments {
  Head h;
  LossTensors t;
};

// Any number of outputs: one warp per sample, or a whole block.
template <bool block>
__global__ void __launch_bounds__(threads) loss_kernel(const __grid_constant__ Arguments a) {
  wait_for_predecessor();
  const Head& h = a.h;
  if (blockIdx.x + 1 == gridDim.x) return prepare_update(h);
  constexpr int sharers = block ? threads : 32;
  const int sample = block ? blockIdx.x : blockIdx.x * warps + threadIdx.x / 32;
  const int lane = threadIdx.x % sharers;
  if (sample >= h.count) return;
  const auto all = [](auto v) {
    if constexpr (block)
      return block_sum(v);
    else
      return warp_sum(v);
  };
  const auto best_of = [](Best b) {
    if constexpr (block)
      return block_best(b);
    else
      return warp_best(b);
  };
  const int size = a.t.positions * a.t.channels, floats = a.t.positions * a.t.padded;
  const float* x = a.t.outputs + static_cast<std::int64_t>(sample) * floats;
  const auto place = [&](int i) {
    return a.t.positions == 1 ? i : i / a.t.channels * a.t.padded + i % a.t.channels;
  };
  const std::uint32_t row = h.source.row(sample);
  const float* target = h.source.targets ? h.source.targets + std::int64_t{row} * size : nullptr;
  int label = target ? 0 : h.source.labels[row];
  const auto wanted = [&](int i) { return target ? target[i] : static_cast<float>(i == label); };

  Best best{-INFINITY, size}, highest{-INFINITY, size};
  float weight = 0;
  for (int i = lane; i < size; i += sharers) {
    if (x[place(i)] > best.value) best = {x[place(i)], i};
    if (target && target[i] > highest.value) highest = {target[i], i};
    weight += wanted(i);
  }
  best = best_of(best), weight = all(weight);
  if (target) label = best_of(highest).index;
  double sum = 0;
  for (int i = lane; h.softmax && i < size; i += sharers) sum += expf(x[place(i)] - best.value);
  sum = all(sum);
  const double log_sum = best.value + log(sum), share = 1 / sum;
  const auto output = [&](int i) {
    return h.softmax ? static_cast<float>(expf(x[place(i)] - best.value) * share) : x[place(i)];
  };
  double loss = 0;
  float inner = 0;
  const bool entropy = h.loss == LossKind::cross_entropy;
  const float each = 1.f / size;
  for (int i = lane; i < size; i += sharers) {
    const float t = wanted(i);
    if (entropy) {
      if (t != 0) loss += t * (log_sum - x[place(i)]);
    } else {
      const float y = output(i), error = y - t;
      loss += static_cast<double>(error) * error;
      inner += 2 * error * each * y;
    }
  }
  loss = all(loss), inner = all(inner);
  if (!entropy) loss /= size;
  if (lane == 0)
    h.losses[sample] = static_cast<float>(loss), h.correct[sample] = best.index == label;
  if (!a.t.gradient) return;
  const float scale = h.state->loss_scale / h.batch;
  float* gradient = a.t.gradient + static_cast<std::int64_t>(sample) * floats;
  for (int i = lane; i < size; i += sharers) {
    const float y = output(i), t = wanted(i);
    float g = entropy ? y * weight - t : 2 * (y - t) * each;
    if (!entropy && h.softmax) g = y * (g - inner);
    float* to = gradient + place(i);
    *to = g * scale;
    // The last channel also clears the padding behind it.
    if ((i + 1) % a.t.channels == 0)
      for (int c = a.t.channels; c < a.t.padded; ++c) to[c + 1 - a.t.channels] = 0;
  }
}

struct SlicedArguments {
  Head h;
  LossTensors t;
  LossSlices s;
  Divider by_slices, by_vectors;
  int share;  // of a slice, in vectors of four channels
};

// What all blocks of a sample found, by the first warp of the last one.
__device__ LossSlice merged_slices(const LossSlice* parts, int count) {
  double loss = 0;
  Best best{-INFINITY, INT_MAX}, highest = best;
  for (int i = threadIdx.x; i < count; i += 32) {
    loss += __ldcg(&parts[i].loss);
    best = better(best, {__ldcg(&parts[i].best), __ldcg(&parts[i].best_at)});
    highest = better(highest, {__ldcg(&parts[i].highest), __ldcg(&parts[i].highest_at)});
  }
  loss = warp_sum(loss), best = warp_best(best), highest = warp_best(highest);
  return {loss, best.value, highest.value, best.index, highest.index};
}

__global__ void __launch_bounds__(threads)
    sliced_loss_kernel(const __grid_constant__ SlicedArguments a) {
  __shared__ bool last;
  wait_for_predecessor();
  const Head& h = a.h;
  if (blockIdx.x + 1 == gridDim.x) return prepare_update(h);
  const int sample = a.by_slices.quotient(blockIdx.x), slice = blockIdx.x - sample * a.s.slices;
  const int vectors = a.t.padded / 4, all = a.t.positions * vectors;
  const int size = a.t.positions * a.t.channels;
  const std::int64_t first = std::int64_t{sample} * all * 4;
  const std::uint32_t row = h.source.row(sample);
  const float* target = h.source.targets ? h.source.targets + std::int64_t{row} * size : nullptr;
  const int label = target ? 0 : h.source.labels[row];
  const float scale = 2 * h.state->loss_scale / h.batch / size;
  double loss = 0;
  Best best{-INFINITY, size}, highest = best;
  const int end = min((slice + 1) * a.share, all);
  for (int v = slice * a.share + threadIdx.x; v < end; v += threads) {
    const int position = a.by_vectors.quotient(v), c = (v - position * vectors) * 4;
    const int at = position * a.t.channels + c;
    const float4 four = load4(a.t.outputs + first + 4 * v);
    const float y[4] = {four.x, four.y, four.z, four.w};
    float g[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const bool real = c + e < a.t.channels;
      const float t = !real ? 0.f : target ? target[at + e] : static_cast<float>(at + e == label);
      const float error = real ? y[e] - t : 0.f;
      g[e] = error * scale, loss += static_cast<double>(error) * error;
      if (real && y[e] > best.value) best = {y[e], at + e};
      if (real && t > highest.value) highest = {t, at + e};
    }
    if (a.t.gradient) store4(a.t.gradient + first + 4 * v, {g[0], g[1], g[2], g[3]});
  }
  loss = block_sum(loss), best = block_best(best);
  if (target) highest = block_best(highest);
  LossSlice sum{loss, best.value, highest.value, best.index, highest.index};
  if (a.s.slices > 1) {
    LossSlice* parts = a.s.sums + std::int64_t{sample} * a.s.slices;
    if (threadIdx.x == 0) {
      parts[slice] = sum;
      __threadfence();
      last = atomicAdd(a.s.tickets + sample, 1) + 1 == a.s.slices;
      if (last) a.s.tickets[sample] = 0;
    }
    __syncthreads();
    if (!last || threadIdx.x >= 32) return;
    __threadfence();
    sum = merged_slices(parts, a.s.slices);
  }
  if (threadIdx.x != 0) return;
  h.losses[sample] = static_cast<float>(sum.loss / size);
  h.correct[sample] = sum.best_at == (target ? sum.highest_at : label);
}

}  // namespace

int loss_slices(LossKind loss, bool softmax, const LossTensors& t, std::int64_t count,
                int multiprocessors) {
  constexpr int blocks_each = 4;
  if (softmax || loss != LossKind::squared_error || t.positions * t.channels <= warp_outputs)
    return 0;
  const std::int64_t vectors = std::int64_t{t.positions} * t.padded / 4;
  return static_cast<int>(
      std::clamp<std::int64_t>(blocks_each * multiprocessors / count, 1,
                               std::max<std::int64_t>(1, (vectors + threads - 1) / threads)));
}

cudaError_t launch_sliced_loss(const Head& head, const LossTensors& tensors,
                               const LossSlices& slices, cudaStream_t stream) {
  const int vectors = tensors.padded / 4, all = tensors.positions * vectors;
  const SlicedArguments a{head,
                          tensors,
                          slices,
                          Divider(static_cast<std::uint32_t>(slices.slices)),
                          Divider(static_cast<std::uint32_t>(vectors)),
                          (all + slices.slices - 1) / slices.slices};
  return launch(sliced_loss_kernel, head.count * slices.slices + 1, threads, 0, stream, a);
}

cudaError_t launch_loss(const Head& head, const LossTensors& tensors, cudaStream_t stream) {
  const Arguments a{head, tensors};
  if (tensors.positions * tensors.channels > warp_outputs)
    return launch(loss_kernel<true>, head.count + 1, threads, 0, stream, a);
  return launch(loss_kernel<false>, (head.count + warps - 1) / warps + 1, threads, 0, stream, a);
}

}  // namespace sweetspot::engine::cuda
