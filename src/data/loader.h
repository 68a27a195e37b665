#pragma once
#include <cstdint>
#include <span>

#include "core/buffer.h"
#include "data/layout.h"
#include "data/pipeline.h"

namespace sweetspot::data {

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
