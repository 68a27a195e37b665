#include "engine/cpu/ops/conv.h"

#include <algorithm>
#include <numeric>

#include "engine/cpu/ops/conv_input.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

std::vector<std::int32_t> row_major(const Extent& extent) {
  std::vector<std::int32_t> positions(static_cast<std::size_t>(extent.positions()));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

// The gradient to a convolution's input is a convolution of its output's gradient, spread out by
// the strides in a frame of zeros, with the kernel turned around.
ConvGeometry turned_around(const ConvGeometry& g) {
  ConvGeometry turned;
  turned.kernel = g.kernel, turned.strides = {1, 1};
  turned.in = {g.in.height + g.kernel.height - 1, g.in.width + g.kernel.width - 1, g.out.channels};
  turned.out = g.in;
  return turned;
}

class Conv final : public Op {
 public:
  Conv(std::string name, const ConvGeometry& geometry, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        g_(geometry),
        turned_(turned_around(g_)),
        // Patches of a raw input are gathered for as many rows as fit half a first-level cache.
        chunk_(g_.raw_input
                   ? std::clamp<std::int64_t>(24 * 1024 / 4 / g_.depth(), 12,
                                              std::max<std::int64_t>(g_.out.positions(), 12))
                   : g_.out.positions()),
        input_(g_, row_major(g_.out), chunk_),
        gradient_(turned_, row_major(turned_.out), 0) {
    ScratchLayout scratch;
    input_at_ = scratch.add(input_.scratch_bytes());
    frame_at_ = scratch.add_floats(g_.raw_input ? 0 : turned_.in.floats());
    temporary.bytes = scratch.size();
    slot_floats = g_.columns() * (g_.depth() + 1);
    shared_floats = g_.raw_input ? 0 : turned_.columns() * turned_.depth();
  }

  std::string method() const override { return g_.relu ? "convolution and ReLU" : "convolution"; }
  bool keeps_input() const override { return true; }
  bool keeps_output() const override { return g_.relu; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    std::byte* scratch = pass.at<std::byte>(temporary, sample, thread) + input_at_;
    const float* in = source(pass, sample, thread);
    input_.frame(in, scratch);
    for (std::int64_t first = 0; first < g_.out.positions(); first += chunk_) {
      Multiply m{};
      input_.point(m, in, scratch, first, std::min(chunk_, g_.out.positions() - first));
      m.relu = g_.relu;
      m.c_row_stride = unit, m.c_unit_stride = g_.out.plane();
      for (std::int64_t n = 0; n < g_.columns(); n += panel) {
        m.b = pass.weights + g_.weights + n * g_.depth();
        m.width = std::min(panel, g_.columns() - n);
        m.bias = g_.bias ? pass.weights + *g_.bias + n : nullptr;
        m.c = pass.at(out_->value, sample, thread) + n / unit * g_.out.plane() + first * unit;
        pass.kernels->multiply(m);
      }
    }
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t index) override {
    float* gradient = pass.at(out_->gradient, sample, thread);
    if (g_.relu)
      pass.kernels->pass_positive(pass.at(out_->value, sample, thread), g_.out.floats(), gradient);
    float* weights = slot(pass, index);
    add_bias(gradient, weights + g_.columns() * g_.depth());
    add_weights(pass, sample, thread, gradient, weights);
    if (wants_input_gradient) make_input_gradient(pass, sample, thread, gradient);
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    if (g_.raw_input || !wants_input_gradient || !pass.training) return;
    const std::int64_t taps = g_.taps();
    const Range units = share(g_.in.units(), part, parts);
    for (std::int64_t i = units.begin; i < units.end; ++i) {
      const std::int64_t in_first = i * unit / panel * panel,
                         in_width = std::min(panel, turned_.columns() - in_first);
      for (std::int64_t o = 0; o < g_.out.units(); ++o) {
        const std::int64_t first = o * unit / panel * panel,
                           width = std::min(panel, g_.columns() - first);
        for (std::int64_t tap = 0; tap < taps; ++tap)
          pass.kernels->transpose(pass.weights + g_.weights + first * g_.depth() +
                                      (i * taps + tap) * unit * width + o * unit - first,
                                  width, unit, unit,
                                  pass.shared + shared_offset + in_first * turned_.depth() +
                                      (o * taps + taps - 1 - tap) * unit * in_width + i * unit -
                                      in_first,
                                  in_width);
      }
    }
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

  void add_bias(const float* gradient, float* bias) const {
    for (std::int64_t u = 0; u < g_.out.units(); ++u)
      for (std::int64_t p = 0; p < g_.out.positions(); ++p)
        for (std::int64_t c = 0; c < unit; ++c)
          bias[u * unit + c] += gradient[u * g_.out.plane() + p * unit + c];
  }

  void add_weights(const Pass& pass, std::int64_t sample, int thread, const float* gradient,
                   float* weights) const {
    std::byte* scratch = pass.at<std::byte>(temporary, sample, thread) + input_at_;
    const float* in = source(pass, sample, thread);
    const float* frame = input_.frame(in, scratch);
    for (std::int64_t first = 0; first < g_.out.positions(); first += chunk_) {
      Outer o{};
      o.rows = std::min(chunk_, g_.out.positions() - first);
      o.g_row_stride = unit, o.g_unit_stride = g_.out.plane(), o.accumulate = true;
      const float* patches = g_.raw_input ? input_.patches(in, scratch, first, o.rows) : nullptr;
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

  void make_input_gradient(const Pass& pass, std::int64_t sample, int thread,
                           const float* gradient) const {
    auto* frame =
        reinterpret_cast<float*>(pass.at<std::byte>(temporary, sample, thread) + frame_at_);
    const std::int64_t top = g_.kernel.height - 1 - g_.pad_top,
                       left = g_.kernel.width - 1 - g_.pad_left;
    for (std::int64_t u = 0; u < g_.out.units(); ++u)
      for (std::int64_t y = 0; y < g_.out.height; ++y)
        for (std::int64_t x = 0; x < g_.out.width; ++x)
          std::copy_n(
              gradient + u * g_.out.plane() + (y * g_.out.width + x) * unit, unit,
              frame + u * turned_.in.plane() +
                  ((y * g_.strides.height + top) * turned_.in.width + x * g_.strides.width + left) *
                      unit);
    Multiply m{};
    gradient_.point(m, frame, nullptr, 0, g_.in.positions());
    m.c_row_stride = unit, m.c_unit_stride = g_.in.plane();
    for (std::int64_t n = 0; n < turned_.columns(); n += panel) {
      m.b = pass.shared + shared_offset + n * turned_.depth();
      m.width = std::min(panel, turned_.columns() - n);
      m.c = pass.at(in_->gradient, sample, thread) + n / unit * g_.in.plane();
      pass.kernels->multiply(m);
    }
  }

  ConvGeometry g_, turned_;
  std::int64_t chunk_;
  ConvInput input_, gradient_;
  core::Bytes input_at_, frame_at_;
};

}  // namespace

std::unique_ptr<Op> make_conv(std::string name, const ConvGeometry& geometry, Tensor* in,
                              Tensor* out) {
  return std::make_unique<Conv>(std::move(name), geometry, in, out);
}

}  // namespace sweetspot::engine::cpu
