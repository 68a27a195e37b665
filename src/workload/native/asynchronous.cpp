#include "workload/native/asynchronous.h"

#include <algorithm>

namespace sweetspot::workload::native {

namespace {

// Beyond this, training does not converge.
constexpr std::size_t most_staleness = 255;

}  // namespace

AsynchronousUpdates::AsynchronousUpdates(collective::Group& group, engine::Trainer& trainer)
    : trainer_(trainer),
      before_(asynchronous_bytes(trainer.trainable_weights().size_bytes()), core::Use::gradients),
      shared_(group.share(trainer.trainable_weights())),
      staleness_(most_staleness + 1) {}

engine::StepResult AsynchronousUpdates::step(const engine::BatchView& batch,
                                             std::int64_t micro_batch) {
  const std::span<float> weights = trainer_.trainable_weights();
  const std::span<float> before(before_.as<float>(), weights.size());
  const std::uint64_t seen = shared_->read(before);
  std::ranges::copy(before, weights.begin());
  const engine::StepResult result = trainer_.step(batch, micro_batch);
  for (std::size_t i = 0; i < weights.size(); ++i) before[i] = weights[i] - before[i];
  const std::uint64_t late = shared_->add(before) - seen;
  ++staleness_[std::min<std::uint64_t>(late, most_staleness)];
  return result;
}

void AsynchronousUpdates::read() { shared_->read(trainer_.trainable_weights()); }

}  // namespace sweetspot::workload::native
