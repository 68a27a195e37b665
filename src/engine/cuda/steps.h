#pragma once
#include <algorithm>

#include "engine/cuda/executor.h"
#include "engine/cuda/gradient_sums.h"
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

  bool is_first() const { return first == 0; }
  bool is_last() const { return first + count == batch; }
};

// The launches of a step, one by one or captured as graphs.
class Steps {
 public:
  // `sums`: null, or of the ranks that share every batch.
  Steps(const Options& options, const Parameters& parameters, GradientSums* sums, cudaStream_t stream)
      : options_(options), parameters_(parameters), sums_(sums), stream_(stream) {}

  // A pass of a micro-batch through `executor`.
  Pass pass(const Executor& executor, const Source& source, const Micro& micro) const;
  // Its backward pass. If an update follows, ranks start to sum what it has made.
  void backward(const Executor& executor, Pass& pass, const Micro& micro, bool updates,
                const Executor::AfterOp& after = nullptr) const;
  // What follows: into the weights immediately if it is the whole batch, into the gradient sum
  // otherwise. `clock` is marked before and after each wait for other ranks.
  void settle(const Executor& executor, const Micro& micro, bool updates,
              Clock* clock = nullptr) const;
  // All of that.
  void run(const Executor& executor, const Source& source, const Micro& micro) const;
  // The update of a rank that has no sample of the batch.
  void run_without_samples(const Executor& executor, std::int64_t advance,
                           Clock* clock = nullptr) const;

  // `steps` steps of `batch` samples from the state's cursor on in a resident split, or one over
  // the samples in a buffer.
  cudaGraphExec_t graph(Executor& executor, const GraphKey& key, Source source) const;
  // A step over a whole batch whose samples are `offset` after the cursor; of ranks, each takes its
  // part.
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
  // The same for a bucket of several ranks.
  template <class Launch>
  void each_update_of(const Executor& executor, int bucket, const Micro& micro,
                      Launch launch) const;
  void fill(Update& update, const Micro& micro) const;
  void sum_partials(const Update& update, const Micro& micro) const;
  // Of several ranks: sums this rank's gradients of a bucket, and starts to sum those of all.
  void send(const Executor& executor, int bucket, const Micro& micro) const;
  void update_with_others(const Executor& executor, const Micro& micro, Clock* clock) const;

  const Options& options_;
  const Parameters& parameters_;
  GradientSums* sums_;
  cudaStream_t stream_;
  std::unique_ptr<Branches> branches_ = std::make_unique<Branches>();
};

}  // namespace sweetspot::engine::cuda
