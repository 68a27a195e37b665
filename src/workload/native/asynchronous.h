#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "collective/group.h"
#include "core/buffer.h"
#include "engine/trainer.h"

namespace sweetspot::workload::native {

// Updates of weights that ranks share, without waiting for each other: a rank reads the weights,
// makes a step on a batch of its own, and adds to the shared weights what the step changed,
// whatever others have added meanwhile. Each rank keeps an optimizer state of its own.
class AsynchronousUpdates {
 public:
  // Every rank; the weights are those of rank 0.
  AsynchronousUpdates(collective::Group& group, engine::Trainer& trainer);

  engine::StepResult step(const engine::BatchView& batch, std::int64_t micro_batch);
  void read();  // the weights as they are now, into the trainer

  // How many of this rank's updates came so many updates of others late; the last is for all that
  // came later still.
  const std::vector<std::int64_t>& staleness() const { return staleness_; }

 private:
  engine::Trainer& trainer_;
  core::Buffer before_;  // the weights that were read
  std::unique_ptr<collective::SharedFloats> shared_;
  std::vector<std::int64_t> staleness_;
};

// What they take beside the trainer, by its trainable weights' bytes.
inline core::Bytes asynchronous_bytes(core::Bytes weights) { return weights; }

}  // namespace sweetspot::workload::native
