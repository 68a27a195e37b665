#pragma once
#include <span>
#include <vector>

#include "engine/trainer.h"
#include "trial/trial.h"

namespace sweetspot::workload::native {

// The lower bound of an operation's work in a step at a setting: the direct arithmetic of its
// layers, and its inputs, outputs, gradients and weights each moved once in fp32. An engine may do
// less: it skips what a pooling drops, and a cache keeps what fits. The last operation, for work
// that belongs to no single one, has the update of what the others do not update themselves.
struct Work {
  double flops = 0, bytes = 0;
};
std::vector<Work> least_work(const model::Network& network,
                             std::span<const engine::Operation> operations,
                             const trial::Setting& setting, engine::Optimizer::Kind optimizer);

}  // namespace sweetspot::workload::native
