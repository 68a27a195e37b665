#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/buffer.h"
#include "core/units.h"
#include "data/dataset.h"

namespace sweetspot::data {

// Simulates slow storage: every batch, or every sample of it, takes this long to load.
struct LoadDelay {
  core::Seconds duration{0};
  bool per_sample = false;
};
LoadDelay parse_load_delay(std::string_view text);  // "1ms", "20ms/batch", "50us/sample"

// What one of several ranks loads: its part of every batch, or every n-th batch whole.
struct Share {
  int rank = 0, ranks = 1;
  bool whole_batches = false;
};

struct PipelineOptions {
  std::int64_t batch = 100;  // of all ranks together, unless each has its own batches
  int workers = 1;           // threads that fill batches; 0: the trainer's own thread does
  int prefetch = 2;          // batches that may be ready ahead of the trainer
  bool shuffle = true;
  bool drop_last = false;
  bool cache =
      false;  // keep converted samples: the load delay and the conversion are paid once per sample
  bool augment_shift = false;  // shift each image by up to two pixels each way, anew each epoch
  LoadDelay delay;
  std::uint64_t seed = 1000;
  Share share{};

  // For one pipeline.
  std::int64_t most_samples() const {
    return share.whole_batches ? batch : (batch + share.ranks - 1) / share.ranks;
  }
};

// A batch ready to train on; valid until the next call of next().
struct Batch {
  std::int64_t count = 0;                // below `batch` only for an epoch's last, or for a part
  std::int64_t first = 0, whole = 0;     // where the part begins; the samples of all parts
  std::span<const float> inputs;         // (count, height, width, channels)
  std::span<const std::int32_t> labels;  // (count), or empty
  std::span<const float> targets;        // (count, target_size), or empty
};

// Delivers batches in an order that depends only on the seed and the epoch, for any number of
// workers. Used by one thread (the trainer's); `samples` must outlive it.
class Pipeline {
 public:
  // Once `stop` is not zero, next() returns false, however slow the storage.
  Pipeline(const Samples& samples, const PipelineOptions& options,
           const std::atomic<int>* stop = nullptr);
  ~Pipeline();

  std::int64_t batches_per_epoch() const;
  void start_epoch(std::uint32_t epoch);  // abandons the rest of the previous epoch
  // The batch size from the next batch on, in this epoch and the following ones; at most the
  // options' batch, for which memory was allocated. Prefetched batches are loaded again.
  void set_batch(std::int64_t batch);
  bool next(Batch& batch);  // false at the end of the epoch
  // Time spent inside next() waiting (or, without workers, loading) since the last start_epoch.
  core::Seconds waited() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What a Pipeline with these options allocates (Use::input), to the byte.
core::Bytes pipeline_bytes(const Samples& samples, const PipelineOptions& options);

}  // namespace sweetspot::data
