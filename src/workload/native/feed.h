#pragma once
#include "data/pipeline.h"
#include "engine/trainer.h"

namespace sweetspot::workload::native {

engine::BatchView view(const data::Batch& batch);

// Batches without end, epoch after epoch.
class Feed {
 public:
  Feed(const data::Samples& samples, const data::PipelineOptions& options)
      : batches_(samples, options) {}
  // Valid until the next call. Starting an epoch (a new order of the samples) is part of waiting
  // for its first batch.
  data::Batch next();

 private:
  data::Pipeline batches_;
  std::uint32_t epoch_ = 0;
};

}  // namespace sweetspot::workload::native
