#pragma once
#include <memory>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

struct SampleLoss {
  double loss;
  std::int64_t correct;
};

// The loss of each sample, kept as a SampleLoss, and its gradient to the output. `softmax`: the
// network's last function, computed here together with the loss.
std::unique_ptr<Op> make_loss(model::Loss loss, bool softmax, Tensor* in);

}  // namespace sweetspot::engine::cpu
