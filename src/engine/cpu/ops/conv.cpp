#include "engine/cpu/ops/conv.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/cpu/ops/conv_gradient.h"
#include "engine/cpu/ops/conv_input.h"
#include "engine/cpu/ops/conv_matrix.h"
#include "engine/cpu/ops/gather.h"
#include "engine/cpu/ops/minimal_filtering.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

std::vector<std::int32_t> row_major(const Extent& extent) {
  std::vector<std::int32_t> positions(static_cast<std::size_t>(extent.positions()));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

class Conv final : public Op {
 public:
  Conv(std::string name, const ConvGeometry& geometry, std::int64_t micro_batch, Tensor* in,
       Tensor* out)
      : Op(std::move(name), in, out),
        g_(geometry),
        // Patches of few channels are gathered for as many rows as fit half a first-level cache.
        chunk_(g_.compact ? std::clamp<std::int64_t>(24 * 1024 / 4 / g_.depth(), 12,
                                                     std::max<std::int64_t>(g_.out.positions(), 12))
                          : g_.out.positions()),
        input_(g_, row_major(g_.out), chunk_),
        gradient_(g_) {
    if (const auto filter = MinimalFiltering::best(g_, micro_batch))
      minimal_.emplace(g_, *filter, micro_batch);
    else if (ConvMatrix::fits(g_, micro_batch))
      matrix_.emplace(g_, micro_batch);
    ScratchLayout scratch;
    input_at_ = scratch.add(input_.scratch_bytes());
    frame_at_ = scratch.add(g_.raw_input || minimal_ || matrix_ ? 0 : gradient_.scratch_bytes());
    minimal_at_ = scratch.add(minimal_ ? minimal_->kept_bytes() : 0);
    working.bytes = minimal_ ? minimal_->working_bytes() : matrix_ ? matrix_->working_bytes() : 0;
    temporary.bytes = scratch.size();
    slot_floats = g_.columns() * (g_.depth() + 1);
    turned_floats_ = g_.raw_input ? 0
                     : matrix_    ? matrix_->weight_floats()
                                  : gradient_.weight_floats();
    shared_floats = turned_floats_ + (minimal_ ? minimal_->weight_floats() : 0);
  }

  std::string method() const override {
    return std::string(g_.relu ? "convolution and ReLU" : "convolution") +
           (minimal_  ? " by minimal filtering"
            : matrix_ ? " of several samples as one matrix"
                      : "");
  }
  std::int64_t samples_at_once() const override {
    return minimal_ ? minimal_->samples_at_once() : matrix_ ? matrix_->samples_at_once() : 1;
  }
  bool keeps_input() const override { return true; }
  bool keeps_output() const override { return g_.relu; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    std::byte* scratch = pass.at<std::byte>(temporary, sample, thread) + input_at_;
    Multiply m{};
    input_.point(m, input_.frame(source(pass, sample, thread), scratch), 0, g_.out.positions());
    m.relu = g_.relu;
    m.c_row_stride = unit, m.c_unit_stride = g_.out.plane();
    for (std::int64_t n = 0; n < g_.columns(); n += panel) {
      m.b = pass.weights + g_.weights + n * g_.depth();
      m.width = std::min(panel, g_.columns() - n);
      m.bias = g_.bias ? pass.weights + *g_.bias + n : nullptr;
      m.c = pass.at(out_->value, sample, thread) + n / unit * g_.out.plane();
      pass.kernels->multiply(m);
    }
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
      add_bias(pass, s, thread, slot(pass, part.slot));
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
    add_bias(pass, sample, thread, slot(pass, index));
    add_weights(pass, sample, thread, gradient, slot(pass, index));
    if (wants_input_gradient)
      gradient_.compute(pass, pass.shared + shared_offset, gradient,
                        pass.at<std::byte>(temporary, sample, thread) + frame_at_,
                        pass.at(in_->gradient, sample, thread));
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    if (minimal_) minimal_->transform_weights(pass, points(pass), part, parts);
    if (!wants_input_gradient || !pass.training) return;
    float* turned = pass.shared + shared_offset;
    if (matrix_) return matrix_->transpose_weights(pass, turned, part, parts);
    gradient_.turn_weights(pass, turned, part, parts);
    if (minimal_) minimal_->transform_turned(pass, turned, points(pass), part, parts);
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    const std::int64_t bias = g_.columns() * g_.depth();
    gather_slots(pass, slot(pass, 0), 0, bias, pass.gradients + g_.weights, part, parts);
    if (g_.bias)
      gather_slots(pass, slot(pass, 0), bias, g_.columns(), pass.gradients + *g_.bias, part, parts);
  }

 private:
  const float* source(const Pass& pass, std::int64_t sample, int thread) const {
    return g_.raw_input ? pass.inputs + sample * g_.input.size()
                        : pass.at(in_->value, sample, thread);
  }

  float* points(const Pass& pass) const { return pass.shared + shared_offset + turned_floats_; }

  MinimalFiltering::Memory memory(const Pass& pass, int thread) const {
    return {pass.at<std::byte>(temporary, 0, thread) + minimal_at_,
            pass.at<std::byte>(working, 0, thread)};
  }

  // Stops gradients at the ReLU and adds what is left.
  void add_bias(const Pass& pass, std::int64_t sample, int thread, float* weights) const {
    float* gradient = pass.at(out_->gradient, sample, thread);
    const float* value = g_.relu ? pass.at(out_->value, sample, thread) : nullptr;
    for (std::int64_t u = 0; u < g_.out.units(); ++u)
      pass.kernels->bias_gradient(value ? value + u * g_.out.plane() : nullptr, g_.out.positions(),
                                  gradient + u * g_.out.plane(),
                                  weights + g_.columns() * g_.depth() + u * unit);
  }

  void add_weights(const Pass& pass, std::int64_t sample, int thread, const float* gradient,
                   float* weights) const {
    std::byte* scratch = pass.at<std::byte>(temporary, sample, thread) + input_at_;
    const float* frame = input_.frame(source(pass, sample, thread), scratch);
    for (std::int64_t first = 0; first < g_.out.positions(); first += chunk_) {
      Outer o{};
      o.rows = std::min(chunk_, g_.out.positions() - first);
      o.g_row_stride = unit, o.g_unit_stride = g_.out.plane(), o.accumulate = true;
      const float* patches = g_.compact ? input_.patches(frame, scratch, first, o.rows) : nullptr;
      for (std::int64_t n = 0; n < g_.columns(); n += panel) {
        o.width = std::min(panel, g_.columns() - n);
        o.g = gradient + n / unit * g_.out.plane() + first * unit;
        o.d = weights + n * g_.depth();
        if (patches) {
          o.a = patches, o.row_stride = g_.depth(), o.depth = g_.depth();
          pass.kernels->outer(o);
          continue;
        }
        o.row_offsets = input_.row_offsets() + first, o.depth = g_.kernel.width * unit;
        for (const std::int32_t segment : input_.segment_offsets()) {
          o.a = frame + segment;
          pass.kernels->outer(o);
          o.d += o.depth * o.width;
        }
      }
    }
  }

  ConvGeometry g_;
  std::int64_t chunk_;
  ConvInput input_;
  ConvGradient gradient_;
  std::optional<MinimalFiltering> minimal_;
  std::optional<ConvMatrix> matrix_;
  std::int64_t turned_floats_;
  core::Bytes input_at_, frame_at_, minimal_at_;
};

}  // namespace

std::unique_ptr<Op> make_conv(std::string name, const ConvGeometry& geometry,
                              std::int64_t micro_batch, Tensor* in, Tensor* out) {
  return std::make_unique<Conv>(std::move(name), geometry, micro_batch, in, out);
}

}  // namespace sweetspot::engine::cpu
