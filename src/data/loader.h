#pragma once
#include <cstdint>
#include <span>

#include "core/buffer.h"
#include "core/units.h"
#include "data/dataset.h"
#include "data/pipeline.h"

namespace sweetspot::data {

// The order in which an epoch visits the samples: a permutation that depends on these alone.
void shuffle(std::span<std::uint32_t> order, std::uint64_t seed, std::uint32_t epoch);

// By how many pixels an image moves down and to the right.
struct Shift {
  std::int64_t down = 0, right = 0;
};

// Up to two pixels each way, less where that would move a small image out of its frame; the same
// for the same seed, epoch and sample.
Shift random_shift(const Samples& shape, std::uint64_t seed, std::uint32_t epoch,
                   std::uint64_t sample);

// One image (height, width, channels) as the network takes it: bytes become [0, 1], floats stay;
// what a shift brings into view is 0.
void place_image(const Samples& shape, Shift by, const std::uint8_t* from, float* to);
void place_image(const Samples& shape, Shift by, const float* from, float* to);

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

// What is loaded into one slot of the ring.
struct BatchMemory {
  float* inputs;
  std::int32_t* labels;  // one of the two
  float* targets;
};

// Makes batches out of samples: which, in what order, converted, shifted, cached. Different batches
// of one epoch may be loaded by different threads at once: they share no sample.
class Loader {
 public:
  Loader(const Samples& samples, const PipelineOptions& options);

  // Both while nobody loads.
  void start_epoch(std::uint32_t epoch);
  // Batches are numbered anew from the epoch's sample `first` on.
  void set_batch(std::int64_t batch, std::int64_t first);
  std::int64_t batches() const;
  // Which samples of a batch are loaded, and how many it has: all of them, unless ranks share it.
  struct Part {
    std::int64_t first, count, whole;
  };
  Part part(std::int64_t batch) const;
  std::int64_t count(std::int64_t batch) const { return part(batch).count; }
  // How long slow storage would take for this batch; what is cached takes none.
  core::Seconds delay(std::int64_t batch) const;
  void load(std::int64_t batch, const BatchMemory& to);

 private:
  std::uint64_t sample(std::int64_t batch, std::int64_t i) const;
  std::int64_t first_of(std::int64_t batch) const;  // its place in the epoch
  void load_input(std::uint64_t sample, float* to);

  const Samples& samples_;
  const PipelineOptions options_;
  const Layout layout_;
  core::Buffer order_, cache_;
  std::uint32_t epoch_ = 0;
  std::int64_t batch_, first_ = 0;
};

}  // namespace sweetspot::data
