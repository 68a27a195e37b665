#pragma once
#include <memory>
#include <vector>

#include "collective/group.h"
#include "engine/cuda/executor.h"
#include "engine/cuda/kernels/ranks.h"
#include "engine/cuda/parameters.h"
#include "engine/cuda/streams.h"

namespace sweetspot::engine::cuda {

// Sums a step's gradients over the ranks that share its batch, bucket by bucket, on the ranks'
// stream while the backward pass continues on the steps' own. Everything can be captured.
class GradientSums {
 public:
  // `ranks` must have its GPU group.
  GradientSums(const Ranks& ranks, const Parameters& parameters, const Optimizer& optimizer,
           cudaStream_t steps);

  // This rank's part of a batch, as the input pipeline divides it.
  struct Part {
    std::int64_t first = 0, count = 0;
  };
  Part part_of(std::int64_t batch) const;

  // Before steps are launched: whether this rank is to stop.
  void note_stop();

  // In this order, for each bucket of a step. The gradients on the steps' stream are complete; the
  // last bucket also takes the step's record, of a rank with samples or without.
  void send(const Executor& executor, int bucket, bool has_samples);
  // What follows on the steps' stream has the sums.
  void receive(int bucket) const { received_[static_cast<std::size_t>(bucket)]->hold(steps_); }
  // Behind the last bucket: the step's record becomes that of all ranks.
  void take_record() const;

  // When the stream is idle: whether a rank was to stop before the last step.
  bool stops() const;
  void check() const { group_.check_queued(); }

 private:
  RankStep step(bool has_samples) const;

  const Ranks ranks_;
  collective::GpuGroup& group_;
  const Parameters& parameters_;
  const Optimizer optimizer_;
  cudaStream_t steps_, sums_;
  Pinned<int> stop_;
  Event sent_;
  std::vector<std::unique_ptr<Event>> received_;  // of each bucket
};

}  // namespace sweetspot::engine::cuda
