#include "engine/cpu/ops/conv.h"

#include <algorithm>
#include <numeric>

#include "engine/cpu/ops/conv_gradient.h"
#include "engine/cpu/ops/conv_input.h"
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
  Conv(std::string name, const ConvGeometry& geometry, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        g_(geometry),
        // Patches of few channels are gathered for as many rows as fit half a first-level cache.
        chunk_(g_.compact ? std::clamp<std::int64_t>(24 * 1024 / 4 / g_.depth(), 12,
                                                     std::max<std::int64_t>(g_.out.positions(), 12))
                          : g_.out.positions()),
        input_(g_, row_major(g_.out), chunk_),
        gradient_(g_) {
    ScratchLayout scratch;
    input_at_ = scratch.add(input_.scratch_bytes());
    frame_at_ = scratch.add(g_.raw_input ? 0 : gradient_.scratch_bytes());
    temporary.bytes = scratch.size();
    slot_floats = g_.columns() * (g_.depth() + 1);
    shared_floats = g_.raw_input ? 0 : gradient_.weight_floats();
  }

  std::string method() const override { return g_.relu ? "convolution and ReLU" : "convolution"; }
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

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t index) override {
    float* gradient = pass.at(out_->gradient, sample, thread);
    float* weights = slot(pass, index);
    for (std::int64_t u = 0; u < g_.out.units(); ++u)
      pass.kernels->bias_gradient(
          g_.relu ? pass.at(out_->value, sample, thread) + u * g_.out.plane() : nullptr,
          g_.out.positions(), gradient + u * g_.out.plane(),
          weights + g_.columns() * g_.depth() + u * unit);
    add_weights(pass, sample, thread, gradient, weights);
    if (wants_input_gradient)
      gradient_.compute(pass, pass.shared + shared_offset, gradient,
                        pass.at<std::byte>(temporary, sample, thread) + frame_at_,
                        pass.at(in_->gradient, sample, thread));
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    if (wants_input_gradient && pass.training)
      gradient_.turn_weights(pass, pass.shared + shared_offset, part, parts);
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    const Range range = share(g_.depth(), part, parts);
    float* sum = slot(pass, 0);
    const std::int64_t begin = range.begin * g_.columns(),
                       count = (range.end - range.begin) * g_.columns();
    for (std::int64_t s = 1; s < pass.used_slots; ++s)
      pass.kernels->add(slot(pass, s) + begin, count, sum + begin);
    std::copy_n(sum + begin, count, pass.gradients + g_.weights + begin);
    if (part > 0 || !g_.bias) return;
    const std::int64_t bias = g_.columns() * g_.depth();
    for (std::int64_t s = 1; s < pass.used_slots; ++s)
      pass.kernels->add(slot(pass, s) + bias, g_.columns(), sum + bias);
    std::copy_n(sum + bias, g_.columns(), pass.gradients + *g_.bias);
  }

 private:
  const float* source(const Pass& pass, std::int64_t sample, int thread) const {
    return g_.raw_input ? pass.inputs + sample * g_.input.size()
                        : pass.at(in_->value, sample, thread);
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
  core::Bytes input_at_, frame_at_;
};

}  // namespace

std::unique_ptr<Op> make_conv(std::string name, const ConvGeometry& geometry, Tensor* in,
                              Tensor* out) {
  return std::make_unique<Conv>(std::move(name), geometry, in, out);
}

}  // namespace sweetspot::engine::cpu
