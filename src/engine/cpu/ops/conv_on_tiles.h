#pragma once
#include <memory>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// Whether a convolution in bf16, pooled or not, runs on tiles whose rows are samples: its images
// are so small that 16 of them stay in cache, and the micro-batch has enough samples.
bool runs_on_sample_tiles(const ConvGeometry& geometry, std::int64_t micro_batch);

// An operation on blocks of samples that are the rows of tiles. A thread that has a block for
// itself goes through the steps that several threads would share.
class BlockwiseOp : public Op {
 public:
  using Op::Op;
  std::int64_t samples_at_once() const override { return tile_samples; }
  std::int64_t block() const override { return tile_samples; }
  void forward_some(const Pass& pass, const Range& samples, int thread) override {
    for (int step = 0; step < forward_steps(); ++step)
      forward_piece(pass, samples, {step, 0, 1}, thread);
  }
  void backward_some(const Pass& pass, const SlotPart& part, int thread) override {
    for (int step = 0; step < backward_steps(); ++step)
      backward_piece(pass, part, {step, 0, 1}, thread);
  }
};

// Convolution, optional ReLU and optional max pooling of 16 samples at a time.
std::unique_ptr<Op> make_conv_on_tiles(std::string name, const ConvGeometry& geometry, Tensor* in,
                                       Tensor* out);
std::string side_by_side_method(const ConvGeometry& geometry);
// The same over the batch itself.
std::unique_ptr<Op> make_first_conv_on_tiles(std::string name, const ConvGeometry& geometry,
                                             Tensor* out);

}  // namespace sweetspot::engine::cpu
