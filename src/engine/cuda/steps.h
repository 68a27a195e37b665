#pragma once
#include <algorithm>

#include "engine/cuda/executor.h"
#include "engine/cuda/parameters.h"

namespace sweetspot::engine::cuda {

// Calls run(first, count) for each micro-batch.
template <class Run>
void for_passes(std::int64_t batch, std::int64_t micro_batch, Run run) {
  for (std::int64_t first = 0; first < batch; first += micro_batch)
    run(first, std::min(micro_batch, batch - first));
}

// Samples [first, first + count) of a batch.
struct Micro {
  std::int64_t first = 0, count = 0, batch = 0;
  std::int64_t advance = 0;  // of the cursor, behind the batch
  bool measured = false;     // the norm of the batch's gradient is wanted
  // Of a batch that ranks share: where this rank's part of it begins, and the samples of all parts;
  // 0: it is not shared.
  std::int64_t place = 0, whole = 0;
};

// The launches that make up a step, one by one or captured as graphs.
class Steps {
 public:
  Steps(const Options& options, const Parameters& parameters, cudaStream_t stream)
      : options_(options), parameters_(parameters), stream_(stream) {}

  // A micro-batch on its way through `executor`.
  Pass pass(const Executor& executor, const Source& source, const Micro& micro) const;
  // What follows its backward pass: into the weights at once if it is the whole batch, into the sum
  // of gradients otherwise.
  void settle(const Executor& executor, const Micro& micro, bool updates) const;
  // The update by the gradients that settle() left in place of one.
  void update(const Executor& executor) const;
  // All of that.
  void run(const Executor& executor, const Source& source, const Micro& micro) const;

  // `steps` steps of `batch` samples from wherever the state's cursor is in a resident split, or
  // one over the samples in a room.
  cudaGraphExec_t graph(Executor& executor, const GraphKey& key, Source source) const;
  // A step over a whole batch whose samples lie `offset` behind the cursor.
  void resident(const Executor& executor, Source split, std::int64_t offset,
                const Micro& batch) const;

 private:
  // Whether operations may update their weights in the backward pass: it is the whole batch's, and
  // nothing else is added to its gradient or wants to see it.
  bool in_place(const Executor& executor, const Micro& micro) const;
  // Calls launch(update) for each of the launches that all weights take, or the rest of them that
  // no operation has updated in place.
  template <class Launch>
  void each_update(const Executor& executor, const Micro& micro, bool rest, Launch launch) const;

  const Options& options_;
  const Parameters& parameters_;
  cudaStream_t stream_;
};

}  // namespace sweetspot::engine::cuda
