#include <algorithm>

#include "engine/cuda/kernels/loss.cuh"
#include "engine/cuda/kernels/loss_slices.h"
#include "engine/cuda/kernels/vectors.cuh"

namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;
// So many outputs a warp holds; with more, a block has one sample.
constexpr int held = 2, warp_outputs = 32 * held;

struct Best {
  float value;
  int index;
};
// The first of the largest.
__device__ Best better(Best a, Best b) {
  return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
}
// As an integer that is larger for a larger float, and back.
__device__ std::uint32_t ordered(float v) {
  const std::uint32_t bits = __float_as_uint(v);
  return bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ float from_ordered(std::uint32_t v) {
  return __uint_as_float(v >> 31 ? v & 0x7fffffffu : ~v);
}
__device__ Best warp_best(Best b) {
  // -0 is as large as 0.
  const std::uint32_t mine = ordered(b.value + 0.f);
  const std::uint32_t most = __reduce_max_sync(0xffffffffu, mine);
  return {from_ordered(most), __reduce_min_sync(0xffffffffu, mine == most ? b.index : INT_MAX)};
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

struct Output {
  float x, t, y;  // before the softmax, the target, and after the softmax, not divided by its sum
};

// Any number of outputs: one warp per sample, which holds them, or a whole block, which reads them
// again for every pass.
template <bool block>
__global__ void __launch_bounds__(threads) loss_kernel(const __grid_constant__ Arguments a) {
  wait_for_predecessor();
  const Head& h = a.h;
  if (blockIdx.x + 1 == gridDim.x) return prepare_update(h);
  const int sample = block ? blockIdx.x : blockIdx.x * warps + threadIdx.x / 32;
  const int lane = block ? threadIdx.x : threadIdx.x % 32;
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
  const int size = a.t.positions * a.t.channels;
  const std::int64_t first = std::int64_t{sample} * a.t.positions * a.t.padded;
  const auto place = [&](int i) {
    return a.t.positions == 1 ? i : i / a.t.channels * a.t.padded + i % a.t.channels;
  };
  const std::uint32_t row = h.source.row(sample);
  const float* target = h.source.targets ? h.source.targets + std::int64_t{row} * size : nullptr;
  int label = target ? 0 : h.source.labels[row];
  const auto loaded = [&](int i) {
    return Output{a.t.outputs[first + place(i)],
                  target ? target[i] : static_cast<float>(i == label), 0.f};
  };
  Output mine[held];
  if constexpr (!block)
#pragma unroll
    for (int k = 0; k < held; ++k)
      if (lane + 32 * k < size) mine[k] = loaded(lane + 32 * k);
  Best best{-INFINITY, size}, highest = best;
  // Calls work(i, output) for each of this thread's; `y` is known if the largest is.
  const auto activate = [&](float x) { return h.softmax ? expf(x - best.value) : x; };
  const auto each = [&](bool known, auto work) {
    if constexpr (block) {
      for (int i = lane; i < size; i += threads) {
        Output o = loaded(i);
        if (known) o.y = activate(o.x);
        work(i, o);
      }
    } else {
#pragma unroll
      for (int k = 0; k < held; ++k)
        if (lane + 32 * k < size) work(lane + 32 * k, mine[k]);
    }
  };

  float weight = 0;
  each(false, [&](int i, const Output& o) {
    if (o.x > best.value) best = {o.x, i};
    if (o.t > highest.value) highest = {o.t, i};
    weight += o.t;
  });
  best = best_of(best);
  if (target) label = best_of(highest).index;
  weight = target ? all(weight) : 1.f;
  if constexpr (!block)
#pragma unroll
    for (int k = 0; k < held; ++k) mine[k].y = activate(mine[k].x);
  double sum = 0;
  if (h.softmax) {
    each(true, [&](int, const Output& o) { sum += o.y; });
    sum = all(sum);
  }
  const double share = h.softmax ? 1 / sum : 1;
  double loss = 0;
  float inner = 0;
  const bool entropy = h.loss == LossKind::cross_entropy;
  if (entropy) {
    const double log_sum = best.value + log(sum);
    each(false, [&](int, const Output& o) {
      if (o.t != 0) loss += o.t * (log_sum - o.x);
    });
    loss = all(loss);
  } else {
    each(true, [&](int, const Output& o) {
      const auto y = static_cast<float>(o.y * share);
      const float error = y - o.t;
      loss += static_cast<double>(error) * error, inner += 2 * error / size * y;
    });
    loss = all(loss) / size, inner = all(inner);
  }
  if (lane == 0)
    h.losses[sample] = static_cast<float>(loss), h.correct[sample] = best.index == label;
  if (!a.t.gradient) return;
  const float scale = h.state->loss_scale / h.batch;
  each(true, [&](int i, const Output& o) {
    const auto y = static_cast<float>(o.y * share);
    float g = entropy ? y * weight - o.t : 2 * (y - o.t) / size;
    if (!entropy && h.softmax) g = y * (g - inner);
    float* to = a.t.gradient + first + place(i);
    *to = g * scale;
    // The last channel also clears the padding behind it.
    if (a.t.positions == 1 ? i + 1 == size : (i + 1) % a.t.channels == 0)
      for (int c = a.t.channels; c < a.t.padded; ++c) to[c + 1 - a.t.channels] = 0;
  });
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
