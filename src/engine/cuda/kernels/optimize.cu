#include "engine/cuda/kernels/device.cuh"
#include "engine/cuda/kernels/launch.h"

// One pass over all parameters: partial gradients are summed in the order of their splits and go
// straight into the optimizer; the last block writes the step's record and moves the state on.
namespace sweetspot::engine::cuda {
namespace {

constexpr int threads = 256;
// With more partials than a few, eight threads share the sum of one place; with many, 32.
constexpr int few_splits = 4, many_splits = 32;
__host__ __device__ int sharers(const Segment& s) {
  return s.splits > many_splits ? 32 : s.splits > few_splits ? 8 : 1;
}
int floats_per_block(const Segment& s) { return threads / sharers(s) * 4; }

__device__ float4 plus(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__device__ float4 at4(const float* p) { return *reinterpret_cast<const float4*>(p); }

// The sum of the partials for this thread's four floats; `place` is -1 where it has none. Every
// thread of the block must come here.
__device__ float4 gathered(const Update& u, const Segment& s, int block, std::int64_t& place) {
  __shared__ float4 shares[threads];
  if (s.splits <= few_splits) {
    const int i = (block * threads + threadIdx.x) * 4;
    place = i < s.count ? s.begin + i : -1;
    float4 sum{};
    for (int split = 0; place >= 0 && split < s.splits; ++split)
      sum = plus(sum, at4(s.partials + split * s.stride + i));
    return sum;
  }
  const int sharing = sharers(s), places = threads / sharing;
  const int share = threadIdx.x / places, i = (block * places + threadIdx.x % places) * 4;
  float4 sum{};
  if (i < s.count) {
#pragma unroll 4
    for (int split = share; split < s.splits; split += sharing)
      sum = plus(sum, at4(s.partials + split * s.stride + i));
  }
  shares[threadIdx.x] = sum;
  __syncthreads();
  place = share == 0 && i < s.count ? s.begin + i : -1;
  for (int other = 1; share == 0 && other < sharing; ++other)
    sum = plus(sum, shares[other * places + threadIdx.x]);
  return sum;
}

__device__ const Segment& segment_of(const Update& u) {
  int i = 0;
  while (i + 1 < u.segment_count && blockIdx.x >= u.segments[i + 1].first_block) ++i;
  return u.segments[i];
}

struct Rates {
  float learning, adam;
};
__device__ float updated(const OptimizerRule& r, Rates rate, float w, float g, float& mean,
                         float& square) {
  switch (r.kind) {
    case OptimizerRule::Kind::sgd:
      return w - rate.learning * g;
    case OptimizerRule::Kind::momentum:
      mean = r.momentum * mean - rate.learning * g;
      return w + mean;
    case OptimizerRule::Kind::nesterov:
      mean = r.momentum * mean - rate.learning * g;
      return w + r.momentum * mean - rate.learning * g;
    case OptimizerRule::Kind::adam:
      mean = r.beta1 * mean + (1 - r.beta1) * g;
      square = r.beta2 * square + (1 - r.beta2) * g * g;
      return w - (r.decay * rate.learning * w + rate.adam * mean / (sqrtf(square) + r.epsilon));
  }
  return w;
}

__device__ void record(const Update& u, bool adds) {
  __shared__ double losses[threads];
  __shared__ unsigned corrects[threads];
  double loss = 0;
  unsigned correct = 0;
  for (int i = threadIdx.x; i < u.samples; i += threads)
    loss += u.losses[i], correct += u.correct[i];
  losses[threadIdx.x] = loss, corrects[threadIdx.x] = correct;
  for (int half = threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      losses[threadIdx.x] += losses[threadIdx.x + half],
          corrects[threadIdx.x] += corrects[threadIdx.x + half];
  }
  if (threadIdx.x != 0) return;
  StepRecord& to = u.history[u.state->slot];
  if (!adds) to = {0, 0, 0};
  to.loss += losses[0], to.correct += corrects[0], to.samples += u.samples;
}

__global__ void __launch_bounds__(threads) update_kernel(const __grid_constant__ Update u) {
  wait_for_predecessor();
  if (blockIdx.x == u.blocks) {
    if (u.samples) record(u, false);
    if (threadIdx.x == 0) ++u.state->step, u.state->cursor += u.advance, ++u.state->slot;
    return;
  }
  const Segment& s = segment_of(u);
  std::int64_t place;
  float4 g;
  if (u.from_gradients) {
    const int per_block = threads / sharers(s);
    const int i = ((blockIdx.x - s.first_block) * per_block + threadIdx.x) * 4;
    place = threadIdx.x < per_block && i < s.count ? s.begin + i : -1;
    if (place >= 0) g = at4(u.gradients + place);
  } else {
    g = gathered(u, s, blockIdx.x - s.first_block, place);
  }
  if (place < 0) return;
  if (u.scaled) {
    if (u.state->bad) return;
    const float down = 1 / u.state->loss_scale;
    g = {g.x * down, g.y * down, g.z * down, g.w * down};
  }
  const Rates rate{u.state->learning_rate, u.state->adam_rate};
  float4 w = at4(u.weights + place), zero{};
  float4 m = u.mean ? at4(u.mean + place) : zero, v = u.square ? at4(u.square + place) : zero;
  w = {updated(u.rule, rate, w.x, g.x, m.x, v.x), updated(u.rule, rate, w.y, g.y, m.y, v.y),
       updated(u.rule, rate, w.z, g.z, m.z, v.z), updated(u.rule, rate, w.w, g.w, m.w, v.w)};
  *reinterpret_cast<float4*>(u.weights + place) = w;
  if (u.mean) *reinterpret_cast<float4*>(u.mean + place) = m;
  if (u.square) *reinterpret_cast<float4*>(u.square + place) = v;
}

struct SumPartials {
  Update u;
  bool adds;
};
__global__ void __launch_bounds__(threads) sum_kernel(const __grid_constant__ SumPartials a) {
  wait_for_predecessor();
  const Segment& s = segment_of(a.u);
  std::int64_t place;
  float4 g = gathered(a.u, s, blockIdx.x - s.first_block, place);
  if (place < 0) return;
  if (a.adds) g = plus(g, at4(a.u.gradients + place));
  if (a.u.scaled && !isfinite(g.x + g.y + g.z + g.w)) a.u.state->bad = 1;
  *reinterpret_cast<float4*>(a.u.gradients + place) = g;
}

struct Record {
  Update u;
  bool adds;
};
__global__ void __launch_bounds__(threads) record_kernel(const __grid_constant__ Record a) {
  wait_for_predecessor();
  record(a.u, a.adds);
}

// Dynamic loss scaling: halve at once when a gradient overflowed, double after two thousand healthy
// steps, as PyTorch does.
__global__ void settle_kernel(StepState* s) {
  wait_for_predecessor();
  if (s->bad)
    s->loss_scale = fmaxf(s->loss_scale / 2, 1.f), s->healthy = 0, ++s->skipped;
  else if (++s->healthy == 2000)
    s->loss_scale = fminf(s->loss_scale * 2, 0x1p24f), s->healthy = 0;
  s->bad = 0;
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
  return launch(sum_kernel, u.blocks, threads, 0, stream, SumPartials{u, adds});
}
cudaError_t launch_update(const Update& u, cudaStream_t stream) {
  const cudaError_t error = launch(update_kernel, u.blocks + 1, threads, 0, stream, u);
  if (error != cudaSuccess || !u.scaled) return error;
  return launch(settle_kernel, 1, 1, 0, stream, u.state);
}
cudaError_t launch_record(const Update& u, bool adds, cudaStream_t stream) {
  return launch(record_kernel, 1, threads, 0, stream, Record{u, adds});
}

}  // namespace sweetspot::engine::cuda
