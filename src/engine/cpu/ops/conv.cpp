#include "engine/cpu/ops/conv.h"

#include <optional>

#include "engine/cpu/ops/conv_direct.h"
#include "engine/cpu/ops/conv_gradient.h"
#include "engine/cpu/ops/conv_matrix.h"
#include "engine/cpu/ops/gather.h"
#include "engine/cpu/ops/minimal_filtering.h"
#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {

namespace {

void add_bias_of(const Pass& pass, const Extent& out, const Range& units, const float* value,
                 float* gradient, float* bias) {
  for (std::int64_t u = units.begin; u < units.end; ++u)
    pass.kernels->bias_gradient(value ? value + u * out.plane() : nullptr, out.positions(),
                                gradient + u * out.plane(), bias + u * unit);
}

}  // namespace

void add_bias_gradient(const Pass& pass, const Extent& out, const float* value, float* gradient,
                       float* bias) {
  add_bias_of(pass, out, {0, out.units()}, value, gradient, bias);
}

void add_masked_bias(const Pass& pass, const ConvGeometry& g, const Range& units,
                     const std::uint8_t* winner, const float* value, float* gradient, float* bias) {
  if (!winner) return add_bias_of(pass, g.out, units, g.relu ? value : nullptr, gradient, bias);
  const std::int64_t windows = g.out.positions() / g.slots(), plane = windows * unit;
  for (std::int64_t u = units.begin; u < units.end; ++u)
    pass.kernels->mask_gradients(gradient + u * plane, winner + u * plane, windows,
                                 bias + u * unit);
}

namespace {

// Winograd with tiles of 4×4 outputs amplifies the rounding error of bf16 operands tenfold (2.5% of
// a typical output), and a direct product in bf16 is slower than Winograd in fp32.
ConvGeometry settle_precision(ConvGeometry g, std::int64_t micro_batch) {
  g.bf16 = g.bf16 && !MinimalFiltering::best(g, micro_batch) && !ConvMatrix::fits(g, micro_batch);
  return g;
}

class Conv final : public Op {
 public:
  Conv(std::string name, const ConvGeometry& geometry, std::int64_t micro_batch, Tensor* in,
       Tensor* out)
      : Op(std::move(name), in, out),
        g_(settle_precision(geometry, micro_batch)),
        direct_(g_),
        gradient_(g_) {
    if (const auto filter = MinimalFiltering::best(g_, micro_batch))
      minimal_.emplace(g_, *filter, micro_batch);
    else if (ConvMatrix::fits(g_, micro_batch))
      matrix_.emplace(g_, micro_batch);
    ScratchLayout scratch;
    direct_at_ = scratch.add(direct_.scratch_bytes());
    frame_at_ = scratch.add(g_.raw_input || minimal_ || matrix_ ? 0 : gradient_.scratch_bytes());
    minimal_at_ = scratch.add(minimal_ ? minimal_->kept_bytes() : 0);
    working.bytes = minimal_ ? minimal_->working_bytes() : matrix_ ? matrix_->working_bytes() : 0;
    temporary.bytes = scratch.size();
    slot_floats = g_.columns() * (g_.depth() + 1);
    turned_floats_ = g_.raw_input || minimal_ ? 0
                     : matrix_                ? matrix_->weight_floats()
                                              : gradient_.weight_floats();
    shared_floats =
        turned_floats_ + (minimal_ ? minimal_->weight_floats() : direct_.weight_floats());
  }

  std::string method() const override {
    return std::string(g_.relu ? "convolution and ReLU" : "convolution") +
           (minimal_  ? " by minimal filtering"
            : matrix_ ? " of several samples as one matrix"
                      : "") +
           (g_.bf16 ? " in bf16" : "");
  }
  std::int64_t samples_at_once() const override {
    return minimal_ ? minimal_->samples_at_once() : matrix_ ? matrix_->samples_at_once() : 1;
  }
  bool keeps_input() const override { return true; }
  bool keeps_output() const override { return g_.relu; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    direct_.forward(pass, source(pass, sample, thread), points(pass),
                    pass.at<std::byte>(temporary, sample, thread) + direct_at_,
                    pass.at(out_->value, sample, thread));
  }

  void forward_some(const Pass& pass, const Range& samples, int thread) override {
    if (matrix_)
      return matrix_->forward({pass, in_->value, out_->value, samples, thread},
                              pass.at<std::byte>(working, 0, thread));
    if (!minimal_) return Op::forward_some(pass, samples, thread);
    minimal_->forward({pass, in_->value, out_->value, samples, thread}, points(pass),
                      memory(pass, thread));
  }

  void backward_some(const Pass& pass, const SlotPart& part, int thread) override {
    if (!minimal_ && !matrix_) return Op::backward_some(pass, part, thread);
    for (std::int64_t s = part.samples.begin; s < part.samples.end; ++s)
      add_bias(pass, s, thread, part.slot);
    const ConvImages for_weights{pass, in_->value, out_->gradient, part.samples, thread};
    const ConvImages for_input{pass, out_->gradient, in_->gradient, part.samples, thread};
    const MinimalFiltering::Memory scratch = memory(pass, thread);
    if (minimal_) {
      minimal_->add_weights(for_weights, part, scratch, slot(pass, part.slot));
      if (wants_input_gradient) minimal_->backward(for_input, points(pass), scratch);
    } else {
      matrix_->add_weights(for_weights, scratch.working, slot(pass, part.slot));
      if (wants_input_gradient)
        matrix_->backward(for_input, pass.shared + shared_offset, scratch.working);
    }
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t index) override {
    float* gradient = pass.at(out_->gradient, sample, thread);
    add_bias(pass, sample, thread, index);
    direct_.add_weights(pass, source(pass, sample, thread), gradient,
                        pass.at<std::byte>(temporary, sample, thread) + direct_at_,
                        slot(pass, index));
    if (wants_input_gradient)
      gradient_.compute(pass, pass.shared + shared_offset, gradient,
                        pass.at<std::byte>(temporary, sample, thread) + frame_at_,
                        pass.at(in_->gradient, sample, thread));
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    if (minimal_) minimal_->transform_weights(pass, points(pass), part, parts);
    if (g_.bf16) direct_.round_weights(pass, points(pass), part, parts);
    if (!wants_input_gradient || !pass.training) return;
    if (minimal_) return minimal_->transform_flipped(pass, points(pass), part, parts);
    float* turned = pass.shared + shared_offset;
    if (matrix_)
      return transpose_weights(pass, pass.weights + g_.weights, g_.depth(), g_.columns(), turned,
                               part, parts);
    gradient_.turn_weights(pass, turned, part, parts);
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    gather_conv(pass, g_, slot(pass, 0), part, parts);
  }

 private:
  const float* source(const Pass& pass, std::int64_t sample, int thread) const {
    return g_.raw_input ? pass.inputs + sample * g_.input.size()
                        : pass.at(in_->value, sample, thread);
  }

  void add_bias(const Pass& pass, std::int64_t sample, int thread, std::int64_t index) const {
    add_bias_gradient(pass, g_.out, g_.relu ? pass.at(out_->value, sample, thread) : nullptr,
                      pass.at(out_->gradient, sample, thread),
                      slot(pass, index) + g_.columns() * g_.depth());
  }

  // The weights of forward products, transformed or in bf16.
  float* points(const Pass& pass) const { return pass.shared + shared_offset + turned_floats_; }

  MinimalFiltering::Memory memory(const Pass& pass, int thread) const {
    return {pass.at<std::byte>(temporary, 0, thread) + minimal_at_,
            pass.at<std::byte>(working, 0, thread)};
  }

  ConvGeometry g_;
  DirectConv direct_;
  ConvGradient gradient_;
  std::optional<MinimalFiltering> minimal_;
  std::optional<ConvMatrix> matrix_;
  std::int64_t turned_floats_;
  core::Bytes direct_at_, frame_at_, minimal_at_;
};

}  // namespace

std::unique_ptr<Op> make_conv(std::string name, const ConvGeometry& geometry,
                              std::int64_t micro_batch, Tensor* in, Tensor* out) {
  return std::make_unique<Conv>(std::move(name), geometry, micro_batch, in, out);
}

}  // namespace sweetspot::engine::cpu
