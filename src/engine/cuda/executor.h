#pragma once
#include <map>
#include <memory>

#include "engine/cuda/program.h"

namespace sweetspot::engine::cuda {

struct GraphDeleter {
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
using Graph = std::unique_ptr<CUgraphExec_st, GraphDeleter>;

// A program with its memory on the device.
class Executor {
 public:
  Executor(Program program, cudaStream_t stream);

  const Program& program() const { return program_; }
  core::MemoryByUse memory() const;
  // The pass with this program's memory filled in.
  Pass pass() const;
  // The update over this program's partial gradients, with losses and all but the trainer's part.
  Update update() const;

  // The host's micro-batch in the room for it; queued behind what the stream does.
  Source copy_in(const BatchView& batch, std::int64_t first, std::int64_t count,
                 std::int64_t sample_floats, std::int64_t outputs) const;

  void forward(Pass& pass) const;
  void backward(Pass& pass) const;

  std::map<std::pair<std::int64_t, std::int64_t>, Graph> graphs;  // by (batch, steps)

 private:
  Program program_;
  cudaStream_t stream_;
  DeviceBuffer arena_, partials_, input_;
  std::vector<Segment> segments_;
  int update_blocks_ = 0;
};

}  // namespace sweetspot::engine::cuda
