#pragma once
#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>

#include "engine/cuda/compiled_plan.h"

namespace sweetspot::engine::cuda {

struct GraphDeleter {
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraphExec_st, GraphDeleter>;

// Captured steps over the resident samples, or one over a host buffer.
struct GraphKey {
  std::int64_t batch = 0, steps = 1;
  int host_buffer = resident;
  std::int64_t norm_every = 0;  // every n-th step, from the first, has its norm; 0: none
  // Of a host buffer that is one rank's part of a batch: where it begins, and the whole batch.
  std::int64_t place = 0, whole = 0;
  auto operator<=>(const GraphKey&) const = default;

  static constexpr int resident = -1;
};

// Adjacent floats of the gradients.
struct Range {
  std::int64_t begin = 0, end = 0;
};

// Which weights a backward pass has updated: none, those whose operations do that themselves, or
// also those of finished operations, on a branch.
enum class UpdatedBefore { none, in_place, on_branch };

// A program with its memory on the device.
class Executor {
 public:
  // `bucket_bytes`: for one of several ranks, how many gradients it sums at once; 0: as many as
  // suits their number.
  Executor(Program program, cudaStream_t stream,
           std::optional<core::Bytes> bucket_bytes = std::nullopt);

  const Program& program() const { return program_; }
  core::MemoryByUse memory() const;
  // A pass with this program's memory filled in.
  Pass pass() const;
  // The update over this program's partial gradients, with losses and everything except the
  // trainer's part, without what was updated before. There are several if one launch cannot take
  // all of them.
  Update update(int i = 0, UpdatedBefore before = UpdatedBefore::none) const {
    return update(of(before), i);
  }
  int updates(UpdatedBefore before = UpdatedBefore::none) const { return of(before).launches(); }

  // Gradients that ranks sum together, in the order in which the backward pass makes them. At least
  // one, for one of several ranks. A bucket's update is like the one above, for its part.
  int buckets() const { return static_cast<int>(buckets_.size()); }
  std::size_t last_op(int bucket) const { return at(bucket).last_op; }  // it is complete after it
  std::span<const Range> ranges(int bucket) const { return at(bucket).ranges; }
  Update bucket_update(int bucket, int i) const { return update(at(bucket).updates, i); }
  int bucket_updates(int bucket) const { return at(bucket).updates.launches(); }

  // A buffer for a host micro-batch, and what the kernels read there.
  std::byte* host_buffer(int i) const;
  Source source(int buffer, bool targets) const;
  // Copies host samples into the first buffer, queued on the stream.
  Source copy_in(const BatchView& batch, std::int64_t first, std::int64_t count) const;

  void forward(Pass& pass) const;
  // `after` is called behind each operation's launches.
  using AfterOp = std::function<void(std::size_t op)>;
  void backward(Pass& pass, const AfterOp& after = nullptr) const;
  // The ends of these two, for callers that run the operations one by one.
  void add_penalty_loss(const Pass& pass) const;
  void add_penalty_gradients(const Pass& pass) const;

  std::map<GraphKey, Graph> graphs;

 private:
  // Calls run(pass) for the penalties of the weights, as many at a time as a kernel takes.
  template <class Run>
  void each_penalty_pass(const Pass& pass, Run run) const;

  Program program_;
  cudaStream_t stream_;
  DeviceBuffer arena_, partials_, input_;
  struct Updates {
    std::vector<Segment> segments;
    std::vector<int> blocks;  // of each launch
    void lay_out();
    int segments_of(int i) const;
    int launches() const { return static_cast<int>(blocks.size()); }
  };
  struct Bucket {
    Updates updates;
    std::vector<Range> ranges;
    std::size_t last_op = 0;
  };
  const Updates& of(UpdatedBefore before) const {
    return updates_[static_cast<std::size_t>(before)];
  }
  const Bucket& at(int bucket) const { return buckets_[static_cast<std::size_t>(bucket)]; }
  // The next segments that the backward pass may update, once operation `op` has run backward.
  struct Chunk {
    std::size_t op = 0;
    Updates updates;
  };
  Segment segment_of(const PartialGradients& partials) const;
  void lay_out_chunks();
  void fill_buckets(core::Bytes bucket_bytes);
  Update update(const Updates& from, int i) const;
  void update_on_branch(const Pass& pass, Branches& branches, const Chunk& chunk) const;

  Updates updates_[3];  // by UpdatedBefore
  std::vector<Chunk> chunks_;
  std::vector<Bucket> buckets_;
};

}  // namespace sweetspot::engine::cuda
