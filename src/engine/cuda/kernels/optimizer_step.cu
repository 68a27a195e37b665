#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/math.cuh"
#include "engine/cuda/kernels/optimizer_rules.cuh"
#include "engine/cuda/kernels/ranks.h"

// One pass over all parameters: partial gradients are summed in the order of their splits and go
// directly into the optimizer; the last block writes the step's record and advances the state.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads_bits = 8, threads = 1 << threads_bits;
// A thread loads four partials at once; as many threads as that takes share the sum of an element,
// up to 32, or fewer in a longer segment. In a very long one every thread has its own elements:
// there are enough of them to keep memory busy.
constexpr int loads_at_once = 4;
constexpr int short_segment = 1 << 16, long_segment = 1 << 18;  // floats
__host__ __device__ int sharer_bits(const Segment& s) {
  const int most = s.count <= short_segment ? 5 : s.count <= long_segment ? 3 : 0;
  int bits = 0;
  while (bits < most && loads_at_once << bits < s.splits) ++bits;
  return bits;
}
int floats_per_block(const Segment& s) { return (threads >> sharer_bits(s)) * 4; }

__device__ float4 plus(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
// Everything here is read once, some of it while the previous kernel still runs: bypass the L1
// cache.
__device__ float4 at4(const float* p) { return __ldcg(reinterpret_cast<const float4*>(p)); }

// The index of this thread's four floats in the segment, or -1: with sharers, the first share has
// them.
__device__ int place_in(const Segment& s, int block) {
  const int places = threads >> sharer_bits(s), i = (block * places + threadIdx.x) * 4;
  return threadIdx.x < places && i < s.count ? i : -1;
}

// The sum of the partials for this thread's four floats. Every thread of the block must call this.
// All loads are always in flight, even if there are fewer partials: none waits for another.
__device__ float4 gathered(const Segment& s, int block) {
  __shared__ float4 shares[threads];
  const int bits = sharer_bits(s), sharing = 1 << bits, places = threads >> bits;
  const int share = threadIdx.x >> (threads_bits - bits);
  const int i = (block * places + (threadIdx.x & (places - 1))) * 4;
  float4 sum{};
  for (int split = share; i < s.count && split < s.splits; split += loads_at_once * sharing) {
    float4 part[loads_at_once];
#pragma unroll
    for (int k = 0; k < loads_at_once; ++k) {
      const int at = split + k * sharing;
      part[k] = at < s.splits ? at4(s.partials + at * s.stride + i) : float4{};
    }
#pragma unroll
    for (int k = 0; k < loads_at_once; ++k) sum = plus(sum, part[k]);
  }
  if (sharing == 1) return sum;
  shares[threadIdx.x] = sum;
  __syncthreads();
  if (share > 0) return sum;
  sum = {};
#pragma unroll 8
  for (int other = 0; other < sharing; ++other)
    sum = plus(sum, shares[other * places + threadIdx.x]);
  return sum;
}

// Where the segments' blocks begin, by themselves: a search reads few lines of the constant cache,
// each of which is read for the first time.
struct Blocks {
  Update u;
  int first[most_segments];
};
Blocks blocks_of(const Update& u) {
  Blocks blocks{u, {}};
  for (int i = 0; i < u.segment_count; ++i) blocks.first[i] = u.segments[i].first_block;
  return blocks;
}
__device__ const Segment& segment_of(const Blocks& blocks) {
  int first = 0, last = blocks.u.segment_count - 1;
  while (first < last) {
    const int middle = (first + last + 1) / 2;
    if (blockIdx.x >= blocks.first[middle])
      first = middle;
    else
      last = middle - 1;
  }
  return blocks.u.segments[first];
}

__device__ void store_operands(Math math, void* to, std::int64_t at, float4 w) {
  switch (math) {
    case Math::fp32:
      return;
    case Math::tf32:
      return Tf32::store(static_cast<float*>(to) + at, w);
    case Math::bf16:
      return Bf16::store(static_cast<__nv_bfloat16*>(to) + at, w);
    case Math::fp16:
      return Fp16::store(static_cast<__half*>(to) + at, w);
  }
}

// The losses of the step, summed, in thread 0.
__device__ StepRecord summed(const Update& u) {
  __shared__ double losses[threads];
  __shared__ unsigned corrects[threads];
  double loss = 0;
  unsigned correct = 0;
  for (int i = threadIdx.x; i < u.samples; i += threads)
    loss += __ldcg(u.losses + i), correct += __ldcg(u.correct + i);
  losses[threadIdx.x] = loss, corrects[threadIdx.x] = correct;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      losses[threadIdx.x] += losses[threadIdx.x + half],
          corrects[threadIdx.x] += corrects[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return {};
  return {losses[0], corrects[0], static_cast<std::uint32_t>(u.samples), 0};
}

// Dynamic loss scaling: halve immediately when a gradient overflowed, double after two thousand
// steps without overflow, as PyTorch does. The update's other blocks do not read what this writes.
__device__ void settle_scale(StepState& s) {
  if (__ldcg(&s.bad))
    s.loss_scale = fmaxf(s.loss_scale / 2, 1.f), s.healthy = 0, ++s.skipped;
  else if (++s.healthy == 2000)
    s.loss_scale = fminf(s.loss_scale * 2, 0x1p24f), s.healthy = 0;
}

// Losses and rates are older than the predecessor, and so are weights and moments, which nothing
// else writes: all of them are loaded while the last gradients are still being computed. Blocks of
// early segments do not wait at all, unless the last gradients can invalidate the step; the waits
// of the others are enough for the following kernels.
__global__ void __launch_bounds__(threads, 6) update_kernel(const __grid_constant__ Blocks blocks) {
  const Update& u = blocks.u;
  if (blockIdx.x == u.blocks) {
    const StepRecord made = u.samples ? summed(u) : StepRecord{};
    const std::uint32_t step = __ldcg(&u.state->step), cursor = __ldcg(&u.state->cursor),
                        slot = __ldcg(&u.state->slot);
    wait_for_predecessor();
    if (threadIdx.x != 0) return;
    if (u.samples) u.history[slot] = made;
    u.state->step = step + 1, u.state->cursor = cursor + u.advance, u.state->slot = slot + 1;
    if (u.scaled) settle_scale(*u.state);
    return;
  }
  const Segment& s = segment_of(blocks);
  const int block = blockIdx.x - s.first_block, i = place_in(s, block);
  const std::int64_t place = s.begin + i;
  float4 w{}, m{}, v{}, g{};
  if (i >= 0) {
    w = at4(u.weights + place);
    if (u.mean) m = at4(u.mean + place);
    if (u.square) v = at4(u.square + place);
  }
  const Rates rate(*u.state);
  // In fp16, whether a gradient overflowed, read once per block: a read by every warp makes all of
  // them queue for one line of the L2 cache.
  __shared__ std::uint32_t bad;
  __shared__ float unscale;
  const auto read_scale = [&] {
    if (u.scaled && threadIdx.x == 0)
      bad = __ldcg(&u.state->bad), unscale = __ldcg(&u.state->unscale);
  };
  const bool early = s.early && !u.from_gradients;
  if (!early) {
    wait_for_predecessor();
    read_scale();
  }
  if (!u.from_gradients)
    g = gathered(s, block);
  else if (i >= 0)
    g = at4(u.gradients + place);
  if (u.scaled) {
    if (early) {
      wait_for_predecessor();
      read_scale();
    }
    __syncthreads();
    if (bad) return;
    g = {g.x * unscale, g.y * unscale, g.z * unscale, g.w * unscale};
  }
  if (i < 0) return;
  w = updated(u.rule, rate, w, g, m, v);
  *reinterpret_cast<float4*>(u.weights + place) = w;
  if (i < s.operand_count) store_operands(u.math, u.operands, s.operands + i, w);
  if (u.mean) *reinterpret_cast<float4*>(u.mean + place) = m;
  if (u.square) *reinterpret_cast<float4*>(u.square + place) = v;
}

struct SumPartials {
  Blocks blocks;
  bool adds;
};
__global__ void __launch_bounds__(threads) sum_kernel(const __grid_constant__ SumPartials a) {
  wait_for_predecessor();
  const Segment& s = segment_of(a.blocks);
  const int block = blockIdx.x - s.first_block, i = place_in(s, block);
  float* to = a.blocks.u.gradients + s.begin + i;
  float4 g = gathered(s, block);
  if (i < 0) return;
  if (a.adds) g = plus(g, at4(to));
  *reinterpret_cast<float4*>(to) = g;
}

struct Record {
  Update u;
  bool adds;
};
__global__ void __launch_bounds__(threads) record_kernel(const __grid_constant__ Record a) {
  wait_for_predecessor();
  const StepRecord made = summed(a.u);
  if (threadIdx.x != 0) return;
  StepRecord& to = a.u.history[a.u.state->slot];
  if (!a.adds) to = {};
  to.loss += made.loss, to.correct += made.correct, to.samples += made.samples;
}

struct SquaredNorm {
  Blocks blocks;
  bool updated;
};
// Blocks add to the record in any order, which changes the last digits of a double.
__global__ void __launch_bounds__(threads) norm_kernel(const __grid_constant__ SquaredNorm a) {
  __shared__ double sums[threads];
  wait_for_predecessor();
  const Update& u = a.blocks.u;
  const Segment& s = segment_of(a.blocks);
  const int block = blockIdx.x - s.first_block, i = place_in(s, block);
  float4 g{};
  if (!u.from_gradients)
    g = gathered(s, block);
  else if (i >= 0)
    g = at4(u.gradients + s.begin + i);
  const double x = g.x, y = g.y, z = g.z, w = g.w;
  sums[threadIdx.x] = i >= 0 ? x * x + y * y + z * z + w * w : 0;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  const double unscale = u.scaled ? __ldcg(&u.state->unscale) : 1.f;
  const std::uint32_t slot = __ldcg(&u.state->slot) - a.updated;
  atomicAdd(&u.history[slot].gradient_squared, sums[0] * unscale * unscale);
}

__global__ void __launch_bounds__(threads) round_kernel(const __grid_constant__ Rounding r) {
  wait_for_predecessor();
  const std::int64_t i = (std::int64_t{blockIdx.x} * threads + threadIdx.x) * 4;
  if (i < r.count) store_operands(r.math, r.to, r.at + i, at4(r.from + i));
}

}  // namespace

int lay_out_blocks(Segment* segments, int count) {
  int blocks = 0;
  for (int i = 0; i < count; ++i) {
    segments[i].first_block = blocks;
    const int per_block = floats_per_block(segments[i]);
    blocks += (segments[i].count + per_block - 1) / per_block;
  }
  return blocks;
}

cudaError_t launch_sum_partials(const Update& u, bool adds, cudaStream_t stream) {
  return launch(sum_kernel, u.blocks, threads, 0, stream, SumPartials{blocks_of(u), adds});
}
cudaError_t launch_update(const Update& u, cudaStream_t stream) {
  return launch(update_kernel, u.blocks + u.ends_step, threads, 0, stream, blocks_of(u));
}
cudaError_t launch_update_after_wait(const Update& u, cudaStream_t stream) {
  update_kernel<<<u.blocks + u.ends_step, threads, 0, stream>>>(blocks_of(u));
  return cudaGetLastError();
}
cudaError_t launch_squared_norm(const Update& u, bool updated, cudaStream_t stream) {
  return launch(norm_kernel, u.blocks, threads, 0, stream, SquaredNorm{blocks_of(u), updated});
}
cudaError_t launch_rounding(const Rounding& r, cudaStream_t stream) {
  const auto blocks = static_cast<int>((r.count + 4 * threads - 1) / (4 * threads));
  return launch(round_kernel, blocks, threads, 0, stream, r);
}
cudaError_t launch_record(const Update& u, bool adds, cudaStream_t stream) {
  return launch(record_kernel, 1, threads, 0, stream, Record{u, adds});
}

}  // namespace sweetspot::engine::cuda
