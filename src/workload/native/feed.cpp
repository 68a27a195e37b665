#include "workload/native/feed.h"

#include <stdexcept>

namespace sweetspot::workload::native {

engine::BatchView view(const data::Batch& batch) {
  return {batch.count,
          batch.inputs.data(),
          batch.labels.empty() ? nullptr : batch.labels.data(),
          batch.targets.empty() ? nullptr : batch.targets.data(),
          batch.first,
          batch.whole == batch.count ? std::nullopt : std::optional(batch.whole)};
}

data::Batch Feed::next() {
  data::Batch batch;
  if (epoch_ > 0 && batches_.next(batch)) return batch;
  batches_.start_epoch(epoch_++);
  if (!batches_.next(batch)) throw std::logic_error("an epoch without batches");
  return batch;
}

}  // namespace sweetspot::workload::native
