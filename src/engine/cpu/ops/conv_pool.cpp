#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "engine/cpu/ops/bf16_pool_gradient.h"
#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/conv_input.h"
#include "engine/cpu/ops/gather.h"
#include "engine/cpu/ops/winograd.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// As many windows at once as keep the convolution's output in half of a 48 KiB L1 cache.
std::int64_t windows_at_once(const ConvGeometry& g) {
  const std::int64_t window_bytes =
      g.slots() * g.columns() * static_cast<std::int64_t>(sizeof(float));
  return std::clamp<std::int64_t>(24 * 1024 / window_bytes, 1, g.out.positions() / g.slots());
}

// In bf16 the arithmetic takes half the time, but reading the weights and adding to their gradients
// takes as long as before: this many windows share it.
constexpr std::int64_t rounded_windows = 64;

// If one sample's windows fill tiles, and the depth does too, direct products are faster than
// Winograd.
bool direct_on_tiles(const ConvGeometry& g) {
  constexpr std::int64_t rows = 32, depth = 32;
  return g.tiles && g.out.positions() >= rows && g.depth() >= depth;
}

// If the weights of a panel stay in the L1 cache; else the products divide them into blocks.
bool fits_registers(const ConvGeometry& g) {
  constexpr std::int64_t cached_floats = 12 * 1024;
  return g.slots() == pooled_slots && g.depth() * std::min(panel, g.columns()) <= cached_floats;
}

// What the positions of a window of a first layer read, together.
struct WindowPatch {
  explicit WindowPatch(const ConvGeometry& g)
      : lines((g.pool.height - 1) * g.strides.height + g.kernel.height),
        run(((g.pool.width - 1) * g.strides.width + g.kernel.width) * g.in.channels),
        row(lines * run <= tile_channels ? tile_channels : 2 * tile_channels) {
    for (std::int64_t y = 0; y < g.pool.height; ++y)
      for (std::int64_t x = 0; x < g.pool.width; ++x)
        add(slots, y * g.strides.height * run + x * g.strides.width * g.in.channels);
    for (std::int64_t y = 0; y < g.kernel.height; ++y)
      for (std::int64_t i = 0; i < g.kernel.width * g.in.channels; ++i) add(taps, y * run + i);
    slots.resize(most_slots);
  }
  // The winners' gradients are multiplied with it in registers.
  static bool fits(const ConvGeometry& g) {
    const WindowPatch patch(g);
    return g.bf16 && !g.tiles && g.raw_input && g.slots() <= most_slots &&
           patch.run <= tile_channels && patch.lines * patch.run <= patch.row;
  }

  static constexpr std::int64_t most_slots = 16;
  std::int64_t lines, run, row;           // numbers; `row`: of all lines, with padding
  std::vector<std::int32_t> slots, taps;  // where they begin

 private:
  static void add(std::vector<std::int32_t>& to, std::int64_t offset) {
    to.push_back(static_cast<std::int32_t>(offset));
  }
};

class ConvPool final : public Op {
 public:
  ConvPool(std::string name, const ConvGeometry& geometry, std::int64_t micro_batch, Tensor* in,
           Tensor* out)
      : Op(std::move(name), in, out),
        g_(geometry),
        windows_(g_.out.positions() / g_.slots()),
        chunk_(windows_at_once(g_)),
        input_(g_, window_major(g_), chunk_ * g_.slots()),
        in_pairs_(g_.bf16 && g_.raw_input && g_.slots() % 2 == 0) {
    if (WindowPatch::fits(g_)) {
      patch_.emplace(g_);
      for (std::int64_t w = 0; w < windows_; ++w) corners_.push_back(input_.offset(w * g_.slots()));
    }
    kept.bytes = aligned(static_cast<core::Bytes>(out->extent.floats()));
    // CPUs with tiles multiply small products no faster in bf16 than in fp32: what is not a product
    // on tiles stays in fp32 there.
    const bool winners = RoundedWinners::fits(g_) && !g_.tiles;
    if (winners) samples_ = std::clamp<std::int64_t>(rounded_windows / windows_, 1, micro_batch);
    if (Winograd::fits(g_) && !direct_on_tiles(g_)) winograd_.emplace(g_, samples_);
    if (winners) rounded_.emplace(g_, input_, samples_);
    rounds_forward_ = winograd_ ? winograd_->bf16() : g_.tiles ? direct_on_tiles(g_) : g_.bf16;
    ScratchLayout scratch;
    input_at_ = scratch.add(input_.scratch_bytes());
    pools_in_registers_ = !winograd_ && !rounds_forward_ && fits_registers(g_);
    rows_at_ = winograd_             ? scratch.add(winograd_->scratch_bytes())
               : pools_in_registers_ ? 0
                                     : scratch.add_floats(chunk_ * g_.slots() * g_.columns());
    offsets_at_ = scratch.add_floats(windows_);
    gradients_at_ = scratch.add_floats(windows_);
    frame_gradient_at_ =
        scratch.add_floats(input_.framed() ? g_.in.units() * input_.frame_plane() : 0);
    rounded_at_ = scratch.add(
        std::max({rounded_ ? rounded_->scratch_bytes() : 0,
                  rounds_forward_ && !winograd_ ? input_.rounded_bytes() : core::Bytes{0},
                  patch_      ? patch_bytes()
                  : in_pairs_ ? pairs_bytes()
                              : core::Bytes{0}}));
    temporary.bytes = scratch.size();
    slot_floats = g_.columns() * (g_.depth() + 1);
    transposed_floats_ = g_.raw_input ? 0
                         : rounded_   ? rounded_->weight_floats()
                                      : g_.columns() * g_.depth();
    shared_floats =
        transposed_floats_ + (winograd_         ? winograd_->weight_floats()
                              : rounds_forward_ ? g_.columns() * input_.rounded_depth() / 2
                                                : 0);
  }

  std::string method() const override {
    return std::string(g_.relu ? "convolution, ReLU and max pooling"
                               : "convolution and max pooling") +
           (winograd_ ? " by minimal filtering" : "") + (rounds_forward_ ? " in bf16" : "") +
           (patch_ || rounded_ ? ", gradients of the winners only in bf16"
            : in_pairs_        ? ", gradients in bf16"
                               : ", gradients of the winners only");
  }
  bool keeps_input() const override { return true; }
  std::int64_t samples_welcome() const override { return samples_; }

  void forward_some(const Pass& pass, const Range& samples, int thread) override {
    if (samples_ == 1 || !winograd_) return Op::forward_some(pass, samples, thread);
    each_group(samples, [&](const Range& group) { forward_group(pass, group, thread); });
  }

  void backward_some(const Pass& pass, const SlotPart& part, int thread) override {
    if (!rounded_) return Op::backward_some(pass, part, thread);
    each_group(part.samples,
               [&](const Range& group) { backward_group(pass, group, thread, part.slot); });
  }

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
    mask_gradients(pass, gradient, winner, weights);
    std::byte* scratch = pass.at<std::byte>(temporary, sample, thread);
    const float* in = source(pass, sample, thread);
    if (patch_)
      backward_patches(pass, in, gradient, winner, scratch, weights);
    else if (in_pairs_)
      backward_pairs(pass, in, gradient, winner, scratch, weights);
    else if (g_.raw_input)
      backward_raw(pass, in, gradient, winner, scratch, weights);
    else
      backward_sparse(pass, sample, thread, in, gradient, winner, scratch, weights);
  }

  void prepare_part(const Pass& pass, int part, int parts) override {
    if (winograd_)
      winograd_->transform_weights(pass, pass.shared + shared_offset + transposed_floats_, part,
                                   parts);
    else if (rounds_forward_)
      input_.round_weights(pass, forward_weights(pass), part, parts);
    if (g_.raw_input || !wants_input_gradient || !pass.training) return;
    if (rounded_) return rounded_->turn_weights(pass, pass.shared + shared_offset, part, parts);
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
    if (patch_ || in_pairs_) return gather_conv(pass, g_, sum, part, parts);
    for (std::int64_t n = units.begin * unit; n < units.end * unit; n += unit) {
      for (std::int64_t s = 1; s < pass.unsummed_slots(); ++s) {
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

  // The weights of a direct convolution, in bf16.
  Bf16* forward_weights(const Pass& pass) const {
    return reinterpret_cast<Bf16*>(pass.shared + shared_offset + transposed_floats_);
  }

  // For samples that are processed together.
  template <class Visit>
  void each_group(const Range& samples, Visit visit) const {
    for (std::int64_t s = samples.begin; s < samples.end; s += samples_)
      visit(Range{s, std::min(s + samples_, samples.end)});
  }

  void forward_group(const Pass& pass, const Range& samples, int thread) const {
    std::byte* scratch = pass.at<std::byte>(temporary, 0, thread);
    std::array<Winograd::Output, rounded_windows> outputs;
    for (std::int64_t s = samples.begin; s < samples.end; ++s) {
      const float* frame = input_.frame(source(pass, s, thread), scratch + input_at_);
      winograd_->transform(pass, input_, frame, s - samples.begin, scratch + rows_at_);
      outputs[static_cast<std::size_t>(s - samples.begin)] = {
          pass.at(out_->value, s, thread), pass.at<std::uint8_t>(kept, s, thread)};
    }
    winograd_->finish(
        pass, pass.shared + shared_offset + transposed_floats_, scratch + rows_at_,
        std::span(outputs).first(static_cast<std::size_t>(samples.end - samples.begin)));
  }

  void backward_group(const Pass& pass, const Range& samples, int thread,
                      std::int64_t index) const {
    std::byte* scratch = pass.at<std::byte>(temporary, 0, thread);
    std::byte* rounded = scratch + rounded_at_;
    float* weights = slot(pass, index);
    std::array<RoundedWinners::Sample, rounded_windows> given;
    for (std::int64_t s = samples.begin; s < samples.end; ++s) {
      float* gradient = pass.at(out_->gradient, s, thread);
      const auto* winner = pass.at<std::uint8_t>(kept, s, thread);
      mask_gradients(pass, gradient, winner, weights);
      rounded_->take_input(pass, input_.frame(source(pass, s, thread), scratch + input_at_),
                           s - samples.begin, rounded);
      given[static_cast<std::size_t>(s - samples.begin)] = {gradient, winner};
    }
    const std::span all =
        std::span(given).first(static_cast<std::size_t>(samples.end - samples.begin));
    rounded_->add_weights(pass, all, rounded, weights);
    if (!wants_input_gradient) return;
    for (std::int64_t s = samples.begin; s < samples.end; ++s) {
      float* in_gradient = pass.at(in_->gradient, s, thread);
      float* frame_gradient =
          input_.framed() ? reinterpret_cast<float*>(scratch + frame_gradient_at_) : in_gradient;
      std::fill_n(frame_gradient, g_.in.units() * input_.frame_plane(), 0.f);
      rounded_->add_input(pass, given[static_cast<std::size_t>(s - samples.begin)],
                          pass.shared + shared_offset, rounded, frame_gradient);
      if (input_.framed()) crop(frame_gradient, in_gradient);
    }
  }

  void mask_gradients(const Pass& pass, float* gradient, const std::uint8_t* winner,
                      float* weights) const {
    add_masked_bias(pass, g_, {0, g_.out.units()}, winner, nullptr, gradient,
                    weights + g_.columns() * g_.depth());
  }

  void forward_direct(const Pass& pass, const float* frame, std::byte* scratch, float* out,
                      std::uint8_t* winner) const {
    if (pools_in_registers_) return forward_pooled(pass, frame, out, winner);
    if (!rounds_forward_)
      return forward_chunks<float>(pass, frame, pass.weights + g_.weights, g_.depth(),
                                   pass.kernels->multiply, scratch, out, winner);
    auto* rounded = reinterpret_cast<Bf16*>(scratch + rounded_at_);
    pass.bf16->round(frame, input_.frame_numbers(), rounded);
    if (pools_pairs_in_registers()) return forward_pooled(pass, rounded, out, winner);
    forward_chunks<Bf16>(pass, rounded, forward_weights(pass), input_.rounded_depth(),
                         pass.bf16->multiply, scratch, out, winner);
  }

  void forward_pooled(const Pass& pass, const float* frame, float* out,
                      std::uint8_t* winner) const {
    PooledProduct p{};
    p.windows = windows_, p.unit_stride = windows_ * unit;
    input_.point(p.product, frame, 0, windows_ * g_.slots());
    p.product.relu = g_.relu;
    for (std::int64_t n = 0; n < g_.columns(); n += panel) {
      p.product.b = pass.weights + g_.weights + n * g_.depth();
      p.product.width = std::min(panel, g_.columns() - n);
      p.product.bias = g_.bias ? pass.weights + *g_.bias + n : nullptr;
      p.out = out + n * windows_, p.winner = winner + n * windows_;
      pass.kernels->multiply_pooled(p);
    }
  }

  // One or two units, whose weights stay in the L1 cache.
  bool pools_pairs_in_registers() const {
    return g_.raw_input && !g_.tiles && g_.slots() == 4 && g_.columns() <= 2 * unit;
  }
  void forward_pooled(const Pass& pass, const Bf16* frame, float* out, std::uint8_t* winner) const {
    PooledPairs p{};
    input_.point(p.product, frame, 0, g_.out.positions());
    p.product.b = forward_weights(pass), p.product.width = g_.columns();
    p.product.bias = g_.bias ? pass.weights + *g_.bias : nullptr, p.product.relu = g_.relu;
    p.out = out, p.winner = winner, p.unit_stride = windows_ * unit;
    pass.bf16->multiply_pooled(p);
  }

  template <class Operand>
  void forward_chunks(const Pass& pass, const Operand* frame, const Operand* weights,
                      std::int64_t depth, void (*multiply)(const Product<Operand>&),
                      std::byte* scratch, float* out, std::uint8_t* winner) const {
    auto* rows = reinterpret_cast<float*>(scratch + rows_at_);
    for (std::int64_t w = 0; w < windows_; w += chunk_) {
      const std::int64_t windows = std::min(chunk_, windows_ - w);
      Product<Operand> m{};
      input_.point(m, frame, w * g_.slots(), windows * g_.slots());
      m.c_row_stride = unit, m.c_unit_stride = m.rows * unit;
      for (std::int64_t n = 0; n < g_.columns(); n += panel) {
        m.b = weights + n * depth;
        m.width = std::min(panel, g_.columns() - n);
        m.bias = g_.bias ? pass.weights + *g_.bias + n : nullptr;
        m.c = rows + n / unit * m.c_unit_stride;
        multiply(m);
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

  // A copy may read a register's numbers beyond the frame.
  std::int64_t rounded_frame() const {
    return round_up(input_.frame_numbers() + tile_channels, tile_channels);
  }
  core::Bytes patch_bytes() const {
    return static_cast<core::Bytes>(rounded_frame() + windows_ * patch_->row) * sizeof(Bf16);
  }

  // In panels of columns like the weights.
  void backward_patches(const Pass& pass, const float* in, const float* gradient,
                        const std::uint8_t* winner, std::byte* scratch, float* weights) const {
    auto* frame = reinterpret_cast<Bf16*>(scratch + rounded_at_);
    pass.bf16->round(input_.frame(in, scratch + input_at_), input_.frame_numbers(), frame);
    PatchPlaces places{};
    places.frames = frame, places.line_stride = input_.frame_width() * g_.in.channels;
    places.offsets = corners_.data(), places.places = windows_;
    places.lines = patch_->lines, places.run = patch_->run, places.samples = places.rows = 1;
    places.to = frame + rounded_frame(), places.row = patch_->row;
    pass.bf16->side_by_side.patches(places);
    for (std::int64_t u = 0; u < g_.out.units(); ++u) {
      const std::int64_t n = u * unit, first = n / panel * panel,
                         width = std::min(panel, g_.columns() - first);
      pass.bf16->patch_weights({{gradient + n * windows_, winner + n * windows_, windows_},
                                places.to,
                                patch_->row,
                                patch_->slots.data(),
                                patch_->taps.data(),
                                std::ssize(patch_->taps),
                                weights + first * g_.depth() + n - first,
                                width});
    }
  }

  core::Bytes pairs_bytes() const {
    return static_cast<core::Bytes>(chunk_ * g_.slots() * (g_.depth() + g_.columns())) *
           sizeof(Bf16);
  }

  // For all positions, in panels of columns like the weights.
  void backward_pairs(const Pass& pass, const float* in, const float* gradient,
                      const std::uint8_t* winner, std::byte* scratch, float* weights) const {
    const float* frame = input_.frame(in, scratch + input_at_);
    auto* inputs = reinterpret_cast<Bf16*>(scratch + rounded_at_);
    Bf16* gradients = inputs + chunk_ * g_.slots() * g_.depth();
    OuterProduct<Bf16> o{};
    o.a = inputs, o.row_stride = 2 * g_.depth(), o.depth = g_.depth();
    o.g_row_stride = 2 * unit, o.accumulate = true;
    for (std::int64_t w = 0; w < windows_; w += chunk_) {
      const std::int64_t windows = std::min(chunk_, windows_ - w), rows = windows * g_.slots();
      pass.bf16->pair_rows(input_.patches(frame, scratch + input_at_, w * g_.slots(), rows),
                           g_.depth(), rows, g_.depth(), inputs, o.row_stride);
      o.rows = rows / 2, o.g_unit_stride = rows * unit;
      for (std::int64_t u = 0; u < g_.out.units(); ++u) {
        const std::int64_t at = (u * windows_ + w) * unit;
        pass.bf16->winners_in_pairs({gradient + at, winner + at, windows}, g_.slots(),
                                    gradients + u * o.g_unit_stride);
      }
      for (std::int64_t n = 0; n < g_.columns(); n += panel) {
        o.width = std::min(panel, g_.columns() - n);
        o.g = gradients + n / unit * o.g_unit_stride;
        o.d = weights + n * g_.depth();
        pass.bf16->outer(o);
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
  std::int64_t windows_, chunk_, samples_ = 1;
  ConvInput input_;
  bool in_pairs_, rounds_forward_, pools_in_registers_;
  std::optional<WindowPatch> patch_;
  std::vector<std::int32_t> corners_;  // of the windows in the frame
  std::optional<Winograd> winograd_;
  std::optional<RoundedWinners> rounded_;
  std::int64_t transposed_floats_;
  core::Bytes input_at_, rows_at_, offsets_at_, gradients_at_, frame_gradient_at_, rounded_at_;
};

}  // namespace

std::unique_ptr<Op> make_conv_pool(std::string name, const ConvGeometry& geometry,
                                   std::int64_t micro_batch, Tensor* in, Tensor* out) {
  return std::make_unique<ConvPool>(std::move(name), geometry, micro_batch, in, out);
}

}  // namespace sweetspot::engine::cpu
