#pragma once
#include <span>
#include <vector>

#include "engine/trainer.h"
#include "trial/trial.h"

namespace sweetspot::workload::native {

// The least that an operation must do in a step at a setting, whoever computes it: the arithmetic
// of the layers that it runs, done directly, and its inputs, outputs, gradients and weights each
// moved once in fp32. An engine may do with less: it leaves out what a pooling drops, and a cache
// keeps what fits. The last operation, which stands for the work of no single one, has the update
// of what the others do not update themselves.
struct Work {
  double flops = 0, bytes = 0;
};
std::vector<Work> least_work(const model::Network& network,
                             std::span<const engine::Operation> operations,
                             const trial::Setting& setting, engine::Optimizer::Kind optimizer);

}  // namespace sweetspot::workload::native
