#include "engine/cuda/kernels/launch.h"
#include "engine/cuda/kernels/loss.cuh"
#include "engine/cuda/kernels/ranks.h"

namespace sweetspot::engine::cuda {
namespace {

__global__ void put_kernel(const __grid_constant__ RankStep s) {
  wait_for_predecessor();
  StepRecord& own = s.history[s.state->slot];
  if (!s.has_samples) prepare_update(*s.state, s.beta1, s.beta2, true), own = {};
  *s.record = {static_cast<float>(own.loss), static_cast<float>(own.correct),
               s.state->bad ? 1.f : 0.f,
               *static_cast<const volatile int*>(s.stop) != 0 ? 1.f : 0.f};
}

__global__ void take_kernel(const __grid_constant__ RankStep s) {
  StepRecord& all = s.history[s.state->slot];
  all.loss = s.record->loss, all.correct = static_cast<std::uint32_t>(s.record->correct);
  s.state->bad = s.record->bad > 0;
}

}  // namespace

cudaError_t launch_put_record(const RankStep& step, cudaStream_t stream) {
  return launch(put_kernel, 1, 1, 0, stream, step);
}

cudaError_t launch_take_record(const RankStep& step, cudaStream_t stream) {
  take_kernel<<<1, 1, 0, stream>>>(step);
  return cudaGetLastError();
}

}  // namespace sweetspot::engine::cuda
