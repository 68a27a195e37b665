#pragma once
#include "core/units.h"
#include "data/pipeline.h"

namespace sweetspot::data {

// The memory of a pipeline: one buffer for the ring of batches, one for the order, one for the
// cache.
struct Layout {
  std::size_t slots = 0;
  core::Bytes inputs_bytes = 0;   // of one batch; rounded up, as is the next, to whole cache lines
  core::Bytes answers_bytes = 0;  // labels or targets of one batch
  core::Bytes order_bytes = 0;
  core::Bytes cached_values_bytes = 0;
  core::Bytes cached_flags_bytes = 0;  // one byte a sample: is it cached?

  core::Bytes slot_bytes() const { return inputs_bytes + answers_bytes; }
  core::Bytes ring_bytes() const { return slots * slot_bytes(); }
  core::Bytes cache_bytes() const { return cached_values_bytes + cached_flags_bytes; }
};

// Depends on the samples' count, shape and target_size alone, so that no data need be loaded.
Layout lay_out(const Samples& samples, const PipelineOptions& options);

}  // namespace sweetspot::data
