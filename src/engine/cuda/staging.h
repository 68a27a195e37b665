#pragma once
#include "engine/cuda/executor.h"
#include "engine/cuda/streams.h"

namespace sweetspot::engine::cuda {

// Batches of the host on their way to the device while it computes: the host fills one page-locked
// buffer while the other one is copied by a stream of its own, and the steps take turns between two
// rooms on the device.
class Staging {
 public:
  explicit Staging(cudaStream_t steps) : steps_(steps) {}
  ~Staging() { cudaStreamSynchronize(copies_); }

  struct Staged {
    Source source;
    int room;
  };
  // A micro-batch in the next room; what is launched behind this finds it there. Waits only for the
  // buffer of the micro-batch before the last, whose memory is free again when this returns.
  Staged stage(const Executor& executor, const BatchView& micro_batch);
  // The steps launched so far are all that read the last room.
  void used() { used_[turn_].record(steps_); }

 private:
  cudaStream_t steps_;
  Stream copies_;
  Pinned<std::byte> host_[2];
  Event copied_[2], used_[2];
  int turn_ = 0;
};

}  // namespace sweetspot::engine::cuda
