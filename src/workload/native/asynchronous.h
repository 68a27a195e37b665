#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "collective/group.h"
#include "core/buffer.h"
#include "engine/trainer.h"

namespace sweetspot::workload::native {

// Updates of shared weights without waiting: a rank reads the weights, runs a step on its own
// batch, and adds the change to the shared weights, whatever others have added meanwhile. Each rank
// has its own optimizer state.
class AsynchronousUpdates {
 public:
  // Every rank; the weights are those of rank 0.
  AsynchronousUpdates(collective::Group& group, engine::Trainer& trainer);

  engine::StepResult step(const engine::BatchView& batch, std::int64_t micro_batch);
  void read();  // the current weights, into the trainer

  // A histogram of this rank's updates by their staleness in updates of others; the last entry
  // counts everything beyond.
  const std::vector<std::int64_t>& staleness() const { return staleness_; }

 private:
  engine::Trainer& trainer_;
  core::Buffer before_;  // the weights that were read
  std::unique_ptr<collective::SharedFloats> shared_;
  std::vector<std::int64_t> staleness_;
};

// Their memory besides the trainer, from its trainable weights' bytes.
inline core::Bytes asynchronous_bytes(core::Bytes weights) { return weights; }

}  // namespace sweetspot::workload::native
