#pragma once
#include "engine/cuda/kernels/params.h"

// What a step does besides when several ranks share its batch. Each function returns the launch's
// error.
namespace sweetspot::engine::cuda {

// What the ranks sum in addition to their gradients.
struct RankSumsRecord {
  float loss, correct;
  float bad;    // above 0: a rank's gradients are not finite, so all skip the update
  float stops;  // above 0: a rank is to stop
};
constexpr int rank_record_floats = sizeof(RankSumsRecord) / sizeof(float);

struct RankStep {
  StepState* state;
  StepRecord* history;
  RankSumsRecord* record;
  const int* stop;  // in host memory
  bool has_samples;
  double beta1, beta2;
};
// Writes this rank's part into the record; without samples, also what the loss would have prepared.
cudaError_t launch_put_record(const RankStep& step, cudaStream_t stream);
// Reads the sums of all ranks back.
cudaError_t launch_take_record(const RankStep& step, cudaStream_t stream);

// launch_update() behind a wait for another stream, which it must not overtake.
cudaError_t launch_update_after_wait(const Update& u, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
