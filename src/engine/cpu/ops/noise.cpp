#include <algorithm>

#include "core/random.h"
#include "engine/cpu/ops/ops.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// The counters of a sample's random numbers, as for dropout: sixteen fill 64 elements.
struct Draws {
  std::uint32_t layer;
  std::int64_t elements;

  std::uint64_t seed(const Pass& pass) const { return pass.seed ^ (std::uint64_t{layer} << 32); }
  std::uint64_t first(const Pass& pass, std::int64_t sample) const {
    return static_cast<std::uint64_t>(pass.first + sample) *
           (static_cast<std::uint64_t>(round_up(elements, 64)) / 4);
  }
  static constexpr auto purpose = static_cast<std::uint32_t>(core::Purpose::dropout);
};

class GaussianNoise final : public Op {
 public:
  GaussianNoise(std::string name, double stddev, std::uint32_t layer, const model::Shape& full,
                Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        stddev_(static_cast<float>(stddev)),
        draws_{layer, full.size()},
        // A flattened image uses the image's order.
        full_width_(full.vector ? in->extent.width : full.width) {
    temporary.bytes = aligned(static_cast<core::Bytes>(round_up(full.size(), 64)) * sizeof(float));
  }
  std::string method() const override { return "normal noise"; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const Extent& e = in_->extent;
    const float* x = pass.at(in_->value, sample, thread);
    float* y = pass.at(out_->value, sample, thread);
    float* noise = pass.at(temporary, sample, thread);
    pass.kernels->layers.normal_noise(draws_.seed(pass), Draws::purpose, pass.step,
                                      draws_.first(pass, sample), draws_.elements, noise);
    std::copy_n(x, e.floats(), y);
    for (std::int64_t line = 0; line < e.height; ++line)
      for (std::int64_t column = 0; column < e.width; ++column)
        for (std::int64_t u = 0; u < e.units(); ++u) {
          const float* from = noise + (line * full_width_ + column) * e.channels + u * unit;
          float* to = y + u * e.plane() + (line * e.width + column) * unit;
          const std::int64_t used = std::min(unit, e.channels - u * unit);
          for (std::int64_t c = 0; c < used; ++c) to[c] += stddev_ * from[c];
        }
  }
  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    std::copy_n(pass.at(out_->gradient, sample, thread), in_->extent.floats(),
                pass.at(in_->gradient, sample, thread));
  }

 private:
  float stddev_;
  Draws draws_;
  std::int64_t full_width_;
};

class ChannelDropout final : public Op {
 public:
  ChannelDropout(std::string name, double rate, std::uint32_t layer, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), draws_{layer, in->extent.channels} {
    threshold_ = static_cast<std::uint32_t>(std::min(rate * 0x1p32, 0x1p32 - 1));
    scale_ = static_cast<float>(1 / (1 - rate));
    kept.bytes = aligned(static_cast<core::Bytes>(in->extent.units() * unit) * sizeof(float));
    temporary.bytes = static_cast<core::Bytes>(in->extent.units()) * sizeof(std::uint16_t);
  }
  std::string method() const override { return "dropout of channels"; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    auto* keep = pass.at<std::uint16_t>(temporary, sample, thread);
    pass.kernels->keep_mask(draws_.seed(pass), Draws::purpose, pass.step,
                            draws_.first(pass, sample), threshold_, draws_.elements, keep);
    float* factors = pass.at(kept, sample, thread);
    for (std::int64_t c = 0; c < in_->extent.units() * unit; ++c)
      factors[c] = c < in_->extent.channels && (keep[c / unit] >> c % unit & 1) ? scale_ : 0.f;
    scale(pass, factors, pass.at(in_->value, sample, thread), pass.at(out_->value, sample, thread));
  }
  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    scale(pass, pass.at(kept, sample, thread), pass.at(out_->gradient, sample, thread),
          pass.at(in_->gradient, sample, thread));
  }

 private:
  void scale(const Pass& pass, const float* factors, const float* from, float* to) const {
    const Extent& e = in_->extent;
    for (std::int64_t u = 0; u < e.units(); ++u)
      pass.kernels->layers.scale_lanes(from + u * e.plane(), factors + u * unit, e.plane(),
                                       to + u * e.plane());
  }

  Draws draws_;
  std::uint32_t threshold_;
  float scale_;
};

}  // namespace

std::unique_ptr<Op> make_gaussian_noise(std::string name, double stddev, std::uint32_t layer,
                                        const model::Shape& full, Tensor* in, Tensor* out) {
  return std::make_unique<GaussianNoise>(std::move(name), stddev, layer, full, in, out);
}

std::unique_ptr<Op> make_channel_dropout(std::string name, double rate, std::uint32_t layer,
                                         Tensor* in, Tensor* out) {
  return std::make_unique<ChannelDropout>(std::move(name), rate, layer, in, out);
}

}  // namespace sweetspot::engine::cpu
