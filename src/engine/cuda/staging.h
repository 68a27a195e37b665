#pragma once
#include "engine/cuda/executor.h"
#include "engine/cuda/streams.h"

namespace sweetspot::engine::cuda {

// Copies host batches to the device while it computes: the host fills one page-locked buffer while
// a separate stream copies the other one, and the steps alternate between two device buffers.
class Staging {
 public:
  explicit Staging(cudaStream_t steps) : steps_(steps) {}
  ~Staging() { cudaStreamSynchronize(copies_); }

  struct Staged {
    Source source;
    int buffer;
  };
  // Copies a micro-batch into the next device buffer, for subsequent launches. Waits only for the
  // buffer of the micro-batch before the last; the caller may reuse its memory when this returns.
  Staged stage(const Executor& executor, const BatchView& micro_batch);
  // Marks the steps launched so far as the last readers of this buffer.
  void used() { used_[turn_].record(steps_); }

 private:
  cudaStream_t steps_;
  Stream copies_;
  Pinned<std::byte> host_[2];
  Event copied_[2], used_[2];
  int turn_ = 0;
};

}  // namespace sweetspot::engine::cuda
