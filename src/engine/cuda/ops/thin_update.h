#pragma once
#include <optional>

#include "engine/cuda/kernels/early_start.h"
#include "engine/cuda/kernels/few_samples.h"
#include "engine/cuda/op.h"

namespace sweetspot::engine::cuda {

// The backward pass of a dense layer with few samples that updates its weights in place and, if
// asked for, computes the gradient of its input.
class ThinUpdatePass {
 public:
  void claim(Planner& planner, const ConvShape& shape, bool wants_input_gradient) {
    tiles_ = thin_update_tiles(shape, planner.micro_batch(), planner.chip());
    if (wants_input_gradient && tiles_.splits > 1)
      planner.claim_scratch(static_cast<core::Bytes>(tiles_.tiles) *
                                static_cast<core::Bytes>(tiles_.splits * tiles_.floats()) *
                                sizeof(float),
                            tiles_.tiles);
  }
  // The part has everything but its division among blocks.
  void run(GemmPart part, std::int64_t kernel, const Pass& pass) const {
    part.tiles_n = tiles_.tiles, part.splits = tiles_.splits, part.split_depth = tiles_.columns;
    part.slices = pass.scratch, part.tickets = pass.tickets;
    // In fp16: whether a gradient overflowed must be known, also if it is still on the branch.
    std::optional<WholePredecessors> late;
    if (pass.in_place.scaled && pass.branches && pass.branches->gradients.open())
      pass.branches->gradients.join(pass.stream), late.emplace();
    check(launch_thin_update({part, pass.in_place.from(kernel), tiles_.samples}, pass.stream),
          "an update");
  }

 private:
  ThinUpdateTiles tiles_;
};

}  // namespace sweetspot::engine::cuda
