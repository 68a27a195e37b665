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

// The launches that make up a step, one by one or captured as graphs.
class Steps {
 public:
  Steps(const Options& options, const Parameters& parameters, cudaStream_t stream)
      : options_(options), parameters_(parameters), stream_(stream) {}

  // Micro-batch [first, first + count) of a batch on its way through `executor`.
  Pass pass(const Executor& executor, const Source& source, std::int64_t first, std::int64_t count,
            std::int64_t batch) const;
  // What follows its backward pass: into the weights at once if it is the whole batch, into the sum
  // of gradients otherwise.
  void settle(const Executor& executor, std::int64_t first, std::int64_t count, std::int64_t batch,
              bool updates) const;
  // All of that.
  void run(const Executor& executor, const Source& source, std::int64_t first, std::int64_t count,
           std::int64_t batch) const;

  // `steps` steps of `batch` samples from wherever the state's cursor is in a resident split, or
  // one over the samples in a room.
  cudaGraphExec_t graph(Executor& executor, const GraphKey& key, const Source& source) const;
  void resident(const Executor& executor, const Source& split, std::int64_t batch) const;

 private:
  const Options& options_;
  const Parameters& parameters_;
  cudaStream_t stream_;
};

}  // namespace sweetspot::engine::cuda
