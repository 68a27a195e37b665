#pragma once
#include <compare>
#include <map>
#include <memory>

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
  auto operator<=>(const GraphKey&) const = default;

  static constexpr int resident = -1;
};

// Which weights a backward pass has updated: none, those whose operations do that themselves, or
// also those of finished operations, on a branch.
enum class UpdatedBefore { none, in_place, on_branch };

// A program with its memory on the device.
class Executor {
 public:
  Executor(Program program, cudaStream_t stream);

  const Program& program() const { return program_; }
  core::MemoryByUse memory() const;
  // A pass with this program's memory filled in.
  Pass pass() const;
  // The update over this program's partial gradients, with losses and everything except the
  // trainer's part, without what was updated before. There are several if one launch cannot take
  // all of them.
  Update update(int i = 0, UpdatedBefore before = UpdatedBefore::none) const;
  int updates(UpdatedBefore before = UpdatedBefore::none) const {
    return static_cast<int>(of(before).blocks.size());
  }

  // A buffer for a host micro-batch, and what the kernels read there.
  std::byte* host_buffer(int i) const;
  Source source(int buffer, bool targets) const;
  // Copies host samples into the first buffer, queued on the stream.
  Source copy_in(const BatchView& batch, std::int64_t first, std::int64_t count) const;

  void forward(Pass& pass) const;
  void backward(Pass& pass) const;
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
  };
  const Updates& of(UpdatedBefore before) const {
    return updates_[static_cast<std::size_t>(before)];
  }
  // The next segments that the backward pass may update, once operation `op` has run backward.
  struct Chunk {
    std::size_t op = 0;
    Updates updates;
  };
  void lay_out_chunks();
  Update update(const Updates& from, int i, bool ends_step) const;
  void update_on_branch(const Pass& pass, Branches& branches, const Chunk& chunk) const;

  Updates updates_[3];  // by UpdatedBefore
  std::vector<Chunk> chunks_;
};

}  // namespace sweetspot::engine::cuda
