#pragma once
#include <cstdint>
#include <span>

#include "core/buffer.h"
#include "core/units.h"
#include "data/dataset.h"
#include "data/pipeline.h"

namespace sweetspot::data {

// The order in which an epoch visits the samples: a permutation that depends only on these
// arguments.
void shuffle(std::span<std::uint32_t> order, std::uint64_t seed, std::uint32_t epoch);

// By how many pixels an image moves down and to the right.
struct Shift {
  std::int64_t down = 0, right = 0;
};

// Up to two pixels each way, less if that would move a small image out of its frame; the same for
// the same seed, epoch and sample.
Shift random_shift(const Samples& shape, std::uint64_t seed, std::uint32_t epoch,
                   std::uint64_t sample);

// One image (height, width, channels) as the network's input: bytes become [0, 1], floats stay;
// pixels shifted in from outside are 0.
void place_image(const Samples& shape, Shift by, const std::uint8_t* from, float* to);
void place_image(const Samples& shape, Shift by, const float* from, float* to);

// The memory of a pipeline: one buffer for the ring of batches, one for the order, one for the
// cache.
struct Layout {
  std::size_t slots = 0;
  core::Bytes inputs_bytes = 0;   // of one batch; rounded up to whole cache lines, like the next
  core::Bytes answers_bytes = 0;  // labels or targets of one batch
  core::Bytes order_bytes = 0;
  core::Bytes cached_values_bytes = 0;
  core::Bytes cached_flags_bytes = 0;  // one byte per sample: is it cached?

  core::Bytes slot_bytes() const { return inputs_bytes + answers_bytes; }
  core::Bytes ring_bytes() const { return slots * slot_bytes(); }
  core::Bytes cache_bytes() const { return cached_values_bytes + cached_flags_bytes; }
};

// Depends only on the samples' count, shape and target_size, so that no data need be loaded.
Layout lay_out(const Samples& samples, const PipelineOptions& options);

// The memory of one slot of the ring.
struct BatchMemory {
  float* inputs;
  std::int32_t* labels;  // one of the two
  float* targets;
};

// Makes batches from samples: selects, orders, converts, shifts, caches. Several threads may load
// different batches of one epoch concurrently: they share no sample.
class Loader {
 public:
  Loader(const Samples& samples, const PipelineOptions& options);

  // Both only while nobody loads.
  void start_epoch(std::uint32_t epoch);
  // Restarts the numbering of batches from the epoch's sample `first` on.
  void set_batch(std::int64_t batch, std::int64_t first);
  std::int64_t batches() const;
  // Which samples of a batch are loaded, and how many it has: all of them, unless ranks share it.
  struct Part {
    std::int64_t first, count, whole;
  };
  Part part(std::int64_t batch) const;
  std::int64_t count(std::int64_t batch) const { return part(batch).count; }
  // How long slow storage would take for this batch; cached samples take none.
  core::Seconds delay(std::int64_t batch) const;
  void load(std::int64_t batch, const BatchMemory& to);

 private:
  std::uint64_t sample(std::int64_t batch, std::int64_t i) const;
  std::int64_t first_of(std::int64_t batch) const;  // its position in the epoch
  void load_input(std::uint64_t sample, float* to);

  const Samples& samples_;
  const PipelineOptions options_;
  const Layout layout_;
  core::Buffer order_, cache_;
  std::uint32_t epoch_ = 0;
  std::int64_t batch_, first_ = 0;
};

}  // namespace sweetspot::data
