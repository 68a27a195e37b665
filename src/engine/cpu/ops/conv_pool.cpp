#include <algorithm>
#include <optional>

#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/conv_input.h"
#include "engine/cpu/ops/winograd.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// Output positions window by window, so that pooling reads consecutive rows.
std::vector<std::int32_t> window_major(const ConvGeometry& g) {
  std::vector<std::int32_t> positions;
  for (std::int64_t y = 0; y < g.out.height; y += g.pool.height)
    for (std::int64_t x = 0; x < g.out.width; x += g.pool.width)
      for (std::int64_t dy = 0; dy < g.pool.height; ++dy)
        for (std::int64_t dx = 0; dx < g.pool.width; ++dx)
          positions.push_back(static_cast<std::int32_t>((y + dy) * g.out.width + x + dx));
  return positions;
}

// As many windows at once as keep the convolution's output in half of a 48 KiB first-level cache.
std::int64_t windows_at_once(const ConvGeometry& g) {
  const std::int64_t window_bytes =
      g.slots() * g.columns() * static_cast<std::int64_t>(sizeof(float));
  return std::clamp<std::int64_t>(24 * 1024 / window_bytes, 1, g.out.positions() / g.slots());
}

class ConvPool final : public Op {
 public:
  ConvPool(std::string name, const ConvGeometry& geometry, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        g_(geometry),
        windows_(g_.out.positions() / g_.slots()),
        chunk_(windows_at_once(g_)),
        input_(g_, window_major(g_), chunk_ * g_.slots()) {
    kept.bytes = aligned(static_cast<core::Bytes>(out->extent.floats()));
    if (Winograd::fits(g_)) winograd_.emplace(g_);
    ScratchLayout scratch;
    input_at_ = scratch.add(input_.scratch_bytes());
    rows_at_ = winograd_ ? scratch.add(winograd_->scratch_bytes())
                         : scratch.add_floats(chunk_ * g_.slots() * g_.columns());
    offsets_at_ = scratch.add_floats(windows_);
    gradients_at_ = scratch.add_floats(windows_);
    frame_gradient_at_ =
        scratch.add_floats(input_.framed() ? g_.in.units() * input_.frame_plane() : 0);
    temporary.bytes = scratch.size();
    slot_floats = g_.columns() * (g_.depth() + 1);
    transposed_floats_ = g_.raw_input ? 0 : g_.columns() * g_.depth();
    shared_floats = transposed_floats_ + (winograd_ ? winograd_->weight_floats() : 0);
  }

  std::string method() const override {
    return std::string(g_.relu ? "convolution, ReLU and max pooling"
                               : "convolution and max pooling") +
           (winograd_ ? " by minimal filtering" : "") + ", gradients of the winners only";
  }
  bool keeps_input() const override { return true; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    std::byte* scratch = pass.at<std::byte>(temporary, sample, thread);
    const float* in = source(pass, sample, thread);
    const float* frame = input_.frame(in, scratch + input_at_);
    float* out = pass.at(out_->value, sample, thread);
    auto* winner = pass.at<std::uint8_t>(kept, sample, thread);
    if (winograd_)
      winograd_->forward(pass, input_, frame, pass.shared + shared_offset + transposed_floats_,
                         scratch + rows_at_, out, winner);
    else
      forward_direct(pass, frame, scratch, out, winner);
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t index) override {
    float* gradient = pass.at(out_->gradient, sample, thread);
    const auto* winner = pass.at<std::uint8_t>(kept, sample, thread);
    float* weights = slot(pass, index);
    float* bias = weights + g_.columns() * g_.depth();
    const std::int64_t plane = windows_ * unit;
    for (std::int64_t u = 0; u < g_.out.units(); ++u)
      pass.kernels->mask_gradients(gradient + u * plane, winner + u * plane, windows_,
                                   bias + u * unit);
    std::byte* scratch = pass.at<std::byte>(temporary, sample, thread);
    const float* in = source(pass, sample, thread);
    if (g_.raw_input)
      backward_raw(pass, in, gradient, winner, scratch, weights);
    else
      backward_sparse(pass, sample, thread, in, gradient, winner, scratch, weights);
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    if (winograd_)
      winograd_->transform_weights(pass, pass.shared + shared_offset + transposed_floats_, part,
                                   parts);
    if (g_.raw_input || !wants_input_gradient || !pass.training) return;
    const Range units = share(g_.out.units(), part, parts);
    for (std::int64_t n = units.begin * unit; n < units.end * unit; n += unit) {
      const std::int64_t first = n / panel * panel, width = std::min(panel, g_.columns() - first);
      pass.kernels->transpose(pass.weights + g_.weights + first * g_.depth() + n - first, width,
                              g_.depth(), unit, pass.shared + shared_offset + n * g_.depth(),
                              g_.depth());
    }
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    const Range units = share(g_.out.units(), part, parts);
    float* sum = slot(pass, 0);
    const std::int64_t bias = g_.columns() * g_.depth();
    for (std::int64_t n = units.begin * unit; n < units.end * unit; n += unit) {
      for (std::int64_t s = 1; s < pass.used_slots; ++s) {
        pass.kernels->add(slot(pass, s) + n * g_.depth(), unit * g_.depth(), sum + n * g_.depth());
        pass.kernels->add(slot(pass, s) + bias + n, unit, sum + bias + n);
      }
      const std::int64_t first = n / panel * panel, width = std::min(panel, g_.columns() - first);
      pass.kernels->transpose(sum + n * g_.depth(), g_.depth(), unit, g_.depth(),
                              pass.gradients + g_.weights + first * g_.depth() + n - first, width);
      if (g_.bias) std::copy_n(sum + bias + n, unit, pass.gradients + *g_.bias + n);
    }
  }

 private:
  const float* source(const Pass& pass, std::int64_t sample, int thread) const {
    return g_.raw_input ? pass.inputs + sample * g_.input.size()
                        : pass.at(in_->value, sample, thread);
  }

  void forward_direct(const Pass& pass, const float* frame, std::byte* scratch, float* out,
                      std::uint8_t* winner) const {
    auto* rows = reinterpret_cast<float*>(scratch + rows_at_);
    for (std::int64_t w = 0; w < windows_; w += chunk_) {
      const std::int64_t windows = std::min(chunk_, windows_ - w);
      Multiply m{};
      input_.point(m, frame, w * g_.slots(), windows * g_.slots());
      m.c_row_stride = unit, m.c_unit_stride = m.rows * unit;
      for (std::int64_t n = 0; n < g_.columns(); n += panel) {
        m.b = pass.weights + g_.weights + n * g_.depth();
        m.width = std::min(panel, g_.columns() - n);
        m.bias = g_.bias ? pass.weights + *g_.bias + n : nullptr;
        m.c = rows + n / unit * m.c_unit_stride;
        pass.kernels->multiply(m);
      }
      for (std::int64_t u = 0; u < g_.out.units(); ++u) {
        const std::int64_t at = (u * windows_ + w) * unit;
        pass.kernels->pool_windows(
            {rows + u * m.c_unit_stride, windows, g_.slots(), g_.relu, out + at, winner + at});
      }
    }
  }

  void backward_raw(const Pass& pass, const float* in, const float* gradient,
                    const std::uint8_t* winner, std::byte* scratch, float* weights) const {
    const float* frame = input_.frame(in, scratch + input_at_);
    for (std::int64_t w = 0; w < windows_; w += chunk_) {
      const std::int64_t windows = std::min(chunk_, windows_ - w);
      const float* patches =
          input_.patches(frame, scratch + input_at_, w * g_.slots(), windows * g_.slots());
      for (std::int64_t u = 0; u < g_.out.units(); ++u) {
        const std::int64_t at = (u * windows_ + w) * unit;
        pass.kernels->patch_weights(patches, windows, g_.slots(), g_.depth(), gradient + at,
                                    winner + at, weights + u * unit * g_.depth());
      }
    }
  }

  void backward_sparse(const Pass& pass, std::int64_t sample, int thread, const float* in,
                       const float* gradient, const std::uint8_t* winner, std::byte* scratch,
                       float* weights) const {
    const float* frame = input_.frame(in, scratch + input_at_);
    float* in_gradient = pass.at(in_->gradient, sample, thread);
    float* frame_gradient =
        input_.framed() ? reinterpret_cast<float*>(scratch + frame_gradient_at_) : in_gradient;
    if (wants_input_gradient)
      std::fill_n(frame_gradient, g_.in.units() * input_.frame_plane(), 0.f);
    const float* transposed = pass.shared + shared_offset;
    const std::int64_t taps = g_.taps() * unit;
    for (std::int64_t channel = 0; channel < g_.out.channels; ++channel) {
      const std::int64_t at = channel / unit * windows_ * unit + channel % unit;
      SparseConv conv{g_.kernel.height, g_.kernel.width, input_.frame_width() * unit,
                      winners(gradient + at, winner + at, scratch)};
      for (std::int64_t u = 0; u < g_.in.units(); ++u) {
        const std::int64_t tap = channel * g_.depth() + u * taps, plane = u * input_.frame_plane();
        pass.kernels->sparse_weights(conv, frame + plane, weights + tap);
        if (wants_input_gradient)
          pass.kernels->sparse_data(conv, transposed + tap, frame_gradient + plane);
      }
    }
    if (wants_input_gradient && input_.framed()) crop(frame_gradient, in_gradient);
  }

  // The positions of one output channel that have a gradient.
  Winners winners(const float* gradient, const std::uint8_t* winner, std::byte* scratch) const {
    auto* offsets = reinterpret_cast<std::int32_t*>(scratch + offsets_at_);
    auto* gradients = reinterpret_cast<float*>(scratch + gradients_at_);
    std::int64_t count = 0;
    for (std::int64_t w = 0; w < windows_; ++w) {
      const float g = gradient[w * unit];
      const std::uint8_t index = winner[w * unit];
      offsets[count] = input_.offset(w * g_.slots() + (index == no_gradient ? 0 : index));
      gradients[count] = g;
      count += g != 0;
    }
    return {count, offsets, gradients};
  }

  void crop(const float* frame, float* to) const {
    const std::int64_t lines =
        std::min(g_.in.height, input_.frame_plane() / unit / input_.frame_width() - g_.pad_top);
    const std::int64_t columns = std::min(g_.in.width, input_.frame_width() - g_.pad_left);
    if (lines < g_.in.height || columns < g_.in.width) std::fill_n(to, g_.in.floats(), 0.f);
    for (std::int64_t u = 0; u < g_.in.units(); ++u)
      for (std::int64_t y = 0; y < lines; ++y)
        std::copy_n(frame + u * input_.frame_plane() +
                        ((y + g_.pad_top) * input_.frame_width() + g_.pad_left) * unit,
                    columns * unit, to + u * g_.in.plane() + y * g_.in.width * unit);
  }

  ConvGeometry g_;
  std::int64_t windows_, chunk_;
  ConvInput input_;
  std::optional<Winograd> winograd_;
  std::int64_t transposed_floats_;
  core::Bytes input_at_, rows_at_, offsets_at_, gradients_at_, frame_gradient_at_;
};

}  // namespace

std::unique_ptr<Op> make_conv_pool(std::string name, const ConvGeometry& geometry, Tensor* in,
                                   Tensor* out) {
  return std::make_unique<ConvPool>(std::move(name), geometry, in, out);
}

}  // namespace sweetspot::engine::cpu
