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
  std::int64_t advance = 0;  // of the cursor, after the batch
  bool measured = false;     // compute the norm of the batch's gradient
  // For a batch shared by ranks: the start of this rank's part, and the samples of all parts; 0: it
  // is not shared.
  std::int64_t place = 0, whole = 0;
  bool one_by_one = false;  // no operation runs beside another
};

// The launches of a step, one by one or captured as graphs.
class Steps {
 public:
  Steps(const Options& options, const Parameters& parameters, cudaStream_t stream)
      : options_(options), parameters_(parameters), stream_(stream) {}

  // A pass of a micro-batch through `executor`.
  Pass pass(const Executor& executor, const Source& source, const Micro& micro) const;
  // What follows its backward pass: into the weights immediately if it is the whole batch, into the
  // gradient sum otherwise.
  void settle(const Executor& executor, const Micro& micro, bool updates) const;
  // The update from the gradients that settle() summed.
  void update(const Executor& executor) const;
  // All of that.
  void run(const Executor& executor, const Source& source, const Micro& micro) const;

  // `steps` steps of `batch` samples from the state's cursor on in a resident split, or one over
  // the samples in a buffer.
  cudaGraphExec_t graph(Executor& executor, const GraphKey& key, Source source) const;
  // A step over a whole batch whose samples are `offset` after the cursor.
  void resident(const Executor& executor, Source split, std::int64_t offset,
                const Micro& batch) const;

 private:
  // Whether weights may be updated in the backward pass: it covers the whole batch, and nothing
  // else adds to or reads its gradient.
  UpdatedBefore updated_before(const Executor& executor, const Micro& micro) const;
  // Calls launch(update) for each of the launches that cover the other weights.
  template <class Launch>
  void each_update(const Executor& executor, const Micro& micro, UpdatedBefore before,
                   Launch launch) const;

  const Options& options_;
  const Parameters& parameters_;
  cudaStream_t stream_;
  std::unique_ptr<Branches> branches_ = std::make_unique<Branches>();
};

}  // namespace sweetspot::engine::cuda
