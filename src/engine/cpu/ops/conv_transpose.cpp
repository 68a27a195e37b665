#include <optional>

#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/conv_direct.h"
#include "engine/cpu/ops/conv_gradient.h"
#include "engine/cpu/ops/conv_matrix.h"
#include "engine/cpu/ops/gather.h"
#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// Forward is the backward pass of the convolution `g_`, whose input is our output: no zero between
// positions is multiplied. Backward is that convolution of our output's gradient.
class TransposedConv final : public Op {
 public:
  TransposedConv(std::string name, const ConvGeometry& geometry, std::optional<std::size_t> bias,
                 bool relu, std::int64_t micro_batch, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        g_(geometry),
        bias_(bias),
        relu_(relu),
        direct_(g_),
        gradient_(g_) {
    if (ConvMatrix::fits(g_, micro_batch)) matrix_.emplace(g_, micro_batch);
    ScratchLayout scratch;
    direct_at_ = scratch.add(matrix_ ? 0 : direct_.scratch_bytes());
    frame_at_ = scratch.add(matrix_ ? 0 : gradient_.scratch_bytes());
    temporary.bytes = scratch.size();
    working.bytes = matrix_ ? matrix_->working_bytes() : 0;
    slot_floats = bias_at() + g_.in.units() * unit;
    shared_floats = matrix_ ? matrix_->weight_floats() : gradient_.weight_floats();
  }

  std::string method() const override {
    return std::string(relu_ ? "transposed convolution and ReLU" : "transposed convolution") +
           (matrix_ ? " of several samples as one matrix" : "");
  }
  std::int64_t samples_at_once() const override { return matrix_ ? matrix_->samples_at_once() : 1; }
  bool keeps_input() const override { return true; }
  bool keeps_output() const override { return relu_; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    gradient_.compute(pass, pass.shared + shared_offset, pass.at(in_->value, sample, thread),
                      scratch(pass, thread) + frame_at_, pass.at(out_->value, sample, thread),
                      finish(pass));
  }

  void forward_some(const Pass& pass, const Range& samples, int thread) override {
    if (!matrix_) return Op::forward_some(pass, samples, thread);
    matrix_->backward({pass, in_->value, out_->value, samples, thread}, pass.shared + shared_offset,
                      pass.at<std::byte>(working, 0, thread), finish(pass));
  }

  void backward_some(const Pass& pass, const SlotPart& part, int thread) override {
    for (std::int64_t s = part.samples.begin; s < part.samples.end; ++s)
      add_bias_gradient(pass, out_->extent, relu_ ? pass.at(out_->value, s, thread) : nullptr,
                        pass.at(out_->gradient, s, thread), slot(pass, part.slot) + bias_at());
    if (!matrix_) return Op::backward_some(pass, part, thread);
    auto* memory = pass.at<std::byte>(working, 0, thread);
    matrix_->add_weights({pass, out_->gradient, in_->value, part.samples, thread}, memory,
                         slot(pass, part.slot));
    if (wants_input_gradient)
      matrix_->forward({pass, out_->gradient, in_->gradient, part.samples, thread}, memory);
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t index) override {
    const float* gradient = pass.at(out_->gradient, sample, thread);
    std::byte* memory = scratch(pass, thread) + direct_at_;
    direct_.add_weights(pass, gradient, pass.at(in_->value, sample, thread), memory,
                        slot(pass, index));
    if (wants_input_gradient)
      direct_.forward(pass, gradient, nullptr, memory, pass.at(in_->gradient, sample, thread));
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    float* turned = pass.shared + shared_offset;
    if (matrix_)
      transpose_weights(pass, pass.weights + g_.weights, g_.depth(), g_.columns(), turned, part,
                        parts);
    else
      gradient_.turn_weights(pass, turned, part, parts);
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    gather_slots(pass, slot(pass, 0), 0, bias_at(), pass.gradients + g_.weights, part, parts);
    if (bias_)
      gather_slots(pass, slot(pass, 0), bias_at(), g_.in.units() * unit, pass.gradients + *bias_,
                   part, parts);
  }

 private:
  std::int64_t bias_at() const { return g_.columns() * g_.depth(); }
  std::byte* scratch(const Pass& pass, int thread) const {
    return pass.at<std::byte>(temporary, 0, thread);
  }
  Finish finish(const Pass& pass) const { return {bias_ ? pass.weights + *bias_ : nullptr, relu_}; }

  ConvGeometry g_;
  std::optional<std::size_t> bias_;
  bool relu_;
  DirectConv direct_;
  ConvGradient gradient_;
  std::optional<ConvMatrix> matrix_;
  core::Bytes direct_at_, frame_at_;
};

}  // namespace

std::unique_ptr<Op> make_transposed_conv(std::string name, const ConvGeometry& geometry,
                                         std::optional<std::size_t> bias, bool relu,
                                         std::int64_t micro_batch, Tensor* in, Tensor* out) {
  return std::make_unique<TransposedConv>(std::move(name), geometry, bias, relu, micro_batch, in,
                                          out);
}

}  // namespace sweetspot::engine::cpu
