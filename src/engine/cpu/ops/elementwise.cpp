#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "engine/cpu/ops/ops.h"
#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

class Input final : public Op {
 public:
  Input(const model::Shape& full, Tensor* out)
      : Op("input", nullptr, out), full_(full), place_(keras_positions(out->extent)) {
    for (std::size_t i = 0; i < place_.size(); ++i)
      contiguous_ = contiguous_ && place_[i] == static_cast<std::int32_t>(i);
  }
  std::string method() const override { return "copy into units of 16 channels"; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const Extent& read = out_->extent;
    const std::int64_t run = read.width * read.channels;  // of a row
    float* to = pass.at(out_->value, sample, thread);
    if (contiguous_ && read.height == 1) {
      std::fill(std::copy_n(pass.inputs + sample * full_.size(), run, to), to + read.floats(), 0.f);
      return;
    }
    std::fill_n(to, read.floats(), 0.f);
    for (std::int64_t y = 0; y < read.height; ++y) {
      const float* from = pass.inputs + sample * full_.size() + y * full_.width * full_.channels;
      const std::int32_t* place = place_.data() + y * run;
      for (std::int64_t i = 0; i < run; ++i) to[place[i]] = from[i];
    }
  }

 private:
  model::Shape full_;
  std::vector<std::int32_t> place_;
  bool contiguous_ = true;  // a vector
};

// Linear and softmax are never separate operations.
Function kernel_function(model::Activation activation) {
  switch (activation) {
    case model::Activation::sigmoid:
      return Function::sigmoid;
    case model::Activation::tanh:
      return Function::tanh;
    default:
      return Function::relu;
  }
}

class Activation final : public Op {
 public:
  Activation(std::string name, Function function, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), function_(function) {}
  std::string method() const override { return "activation"; }
  bool keeps_output() const override { return true; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    float* y = pass.at(out_->value, sample, thread);
    pass.kernels->activate(function_, pass.at(in_->value, sample, thread), in_->extent.floats(), y);
    if (function_ == Function::sigmoid) clear_padding(out_->extent, y);  // sigmoid(0) = ½
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    pass.kernels->activate_back(function_, pass.at(out_->value, sample, thread),
                                pass.at(out_->gradient, sample, thread), in_->extent.floats(),
                                pass.at(in_->gradient, sample, thread));
  }

 private:
  Function function_;
};

class Dropout final : public Op {
 public:
  Dropout(std::string name, double rate, std::uint32_t layer, const model::Shape& full, Tensor* in,
          Tensor* out)
      : Op(std::move(name), in, out),
        layer_(layer),
        full_size_(full.size()),
        // A flattened image uses the image's order.
        full_width_(full.vector ? in->extent.width : full.width) {
    // A word below the threshold drops its element.
    threshold_ = static_cast<std::uint32_t>(std::min(rate * 0x1p32, 0x1p32 - 1));
    scale_ = static_cast<float>(1 / (1 - rate));
    kept.bytes = aligned(static_cast<core::Bytes>(in->extent.floats() / unit) * sizeof(Keep));
    // scatter() reads one more.
    temporary.bytes = static_cast<core::Bytes>(pieces(full.size(), unit) + 1) * sizeof(Keep);
    contiguous_ = full.size() == in->extent.channels;  // it has no dead positions
  }
  std::string method() const override { return "dropout"; }
  bool rounds_output() const override { return true; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const float* x = pass.at(in_->value, sample, thread);
    if (out_->rounded) return forward_rounded(pass, sample, thread, x);
    float* y = pass.at(out_->value, sample, thread);
    const std::int64_t n = in_->extent.floats();
    if (!pass.training) {
      std::copy_n(x, n, y);
      return;
    }
    pass.kernels->scale_kept(x, keep(pass, sample, thread), scale_, n, y);
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    const auto* keep = pass.at<Keep>(kept, sample, thread);
    const float* g = pass.at(out_->gradient, sample, thread);
    float* to = pass.at(in_->gradient, sample, thread);
    pass.kernels->scale_kept(g, keep, scale_, in_->extent.floats(), to);
  }

 private:
  using Keep = std::uint16_t;  // a bit for each element of a unit

  // A row of the tiles of its block of samples.
  void forward_rounded(const Pass& pass, std::int64_t sample, int thread, const float* x) const {
    const std::int64_t row = sample % tile_samples, n = in_->extent.floats();
    Bf16* y = pass.at<Bf16>(out_->value, sample - row, thread) + row * tile_channels;
    // Its lines are a tile apart, which the prefetcher misses: they come while numbers are drawn.
    for (std::int64_t i = 0; i < n; i += tile_channels) __builtin_prefetch(y + i * tile_samples);
    if (pass.training)
      pass.bf16->round_kept(x, keep(pass, sample, thread), scale_, n, y);
    else
      pass.bf16->round_row_tiles(x, 1, n, y);
  }

  // Which elements are not dropped.
  const Keep* keep(const Pass& pass, std::int64_t sample, int thread) const {
    auto* to = pass.at<Keep>(kept, sample, thread);
    auto* drawn = pass.at<Keep>(temporary, sample, thread);
    draw(pass, sample, contiguous_ ? to : drawn);
    if (!contiguous_) scatter(drawn, to);
    return to;
  }

  // Element e of sample s takes word (e / 16) % 4 of counter (s · ⌈size / 64⌉ + e / 64) · 16 + e %
  // 16 of the stream (seed, dropout, step, layer): sixteen counters fill 64 elements.
  void draw(const Pass& pass, std::int64_t sample, Keep* keep) const {
    const std::uint64_t counters = static_cast<std::uint64_t>(round_up(full_size_, 64)) / 4;
    pass.kernels->keep_mask(pass.seed ^ (std::uint64_t{layer_} << 32),
                            static_cast<std::uint32_t>(core::Purpose::dropout), pass.step,
                            static_cast<std::uint64_t>(pass.first + sample) * counters, threshold_,
                            full_size_, keep);
  }

  // From Keras' order of the full shape into the layout of the extent.
  void scatter(const Keep* drawn, Keep* keep) const {
    const Extent& e = in_->extent;
    for (std::int64_t y = 0; y < e.height; ++y)
      for (std::int64_t x = 0; x < e.width; ++x)
        for (std::int64_t u = 0; u < e.units(); ++u) {
          const std::int64_t first = (y * full_width_ + x) * e.channels + u * unit;
          const Keep* from = drawn + first / unit;
          const std::uint32_t two = from[0] | std::uint32_t{from[1]} << unit;
          // The bits of a unit's padding mean nothing.
          keep[u * e.positions() + y * e.width + x] = static_cast<Keep>(two >> first % unit);
        }
  }

  std::uint32_t layer_, threshold_;
  float scale_;
  bool contiguous_;
  std::int64_t full_size_, full_width_;
};

}  // namespace

std::unique_ptr<Op> make_input(const model::Shape& full, Tensor* out) {
  return std::make_unique<Input>(full, out);
}

std::unique_ptr<Op> make_activation(std::string name, model::Activation function, Tensor* in,
                                    Tensor* out) {
  return std::make_unique<Activation>(std::move(name), kernel_function(function), in, out);
}

std::unique_ptr<Op> make_dropout(std::string name, double rate, std::uint32_t layer,
                                 const model::Shape& full, Tensor* in, Tensor* out) {
  return std::make_unique<Dropout>(std::move(name), rate, layer, full, in, out);
}

}  // namespace sweetspot::engine::cpu
