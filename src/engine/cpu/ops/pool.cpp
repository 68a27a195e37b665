#include "engine/cpu/ops/pool.h"

#include <algorithm>

#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

class Pool final : public Op {
 public:
  Pool(std::string name, const model::Pooling2D& pool, const model::Shape& full, Tensor* in,
       Tensor* out)
      : Op(std::move(name), in, out),
        pool_(pool),
        top_(model::padding_along(pool.padding, full.height, pool.size.height, pool.strides.height)
                 .before),
        left_(model::padding_along(pool.padding, full.width, pool.size.width, pool.strides.width)
                  .before) {
    // The winner's position in the input plane.
    if (is_max())
      kept.bytes = aligned(static_cast<core::Bytes>(out->extent.floats()) * sizeof(std::int32_t));
  }

  std::string method() const override { return is_max() ? "max pooling" : "average pooling"; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const float* x = pass.at(in_->value, sample, thread);
    float* y = pass.at(out_->value, sample, thread);
    auto* winner = pass.at<std::int32_t>(kept, sample, thread);
    each_window([&](std::int64_t u, std::int64_t out, const Window& w) {
      const float* plane = x + u * in_->extent.plane();
      for (std::int64_t c = 0; c < unit; ++c) {
        if (is_max()) {
          std::int64_t best = w.top * in_->extent.width + w.left;
          for (std::int64_t iy = w.top; iy < w.bottom; ++iy)
            for (std::int64_t ix = w.left; ix < w.right; ++ix)
              if (const std::int64_t at = iy * in_->extent.width + ix;
                  plane[at * unit + c] > plane[best * unit + c])
                best = at;
          winner[out + c] = static_cast<std::int32_t>(best);
          y[out + c] = plane[best * unit + c];
        } else {
          float sum = 0;
          for (std::int64_t iy = w.top; iy < w.bottom; ++iy)
            for (std::int64_t ix = w.left; ix < w.right; ++ix)
              sum += plane[(iy * in_->extent.width + ix) * unit + c];
          y[out + c] = sum / static_cast<float>(w.size());
        }
      }
    });
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    const float* g = pass.at(out_->gradient, sample, thread);
    float* to = pass.at(in_->gradient, sample, thread);
    const auto* winner = pass.at<std::int32_t>(kept, sample, thread);
    std::fill_n(to, in_->extent.floats(), 0.f);
    each_window([&](std::int64_t u, std::int64_t out, const Window& w) {
      float* plane = to + u * in_->extent.plane();
      if (is_max()) {
        for (std::int64_t c = 0; c < unit; ++c) plane[winner[out + c] * unit + c] += g[out + c];
        return;
      }
      const float part = 1 / static_cast<float>(w.size());
      for (std::int64_t iy = w.top; iy < w.bottom; ++iy)
        for (std::int64_t ix = w.left; ix < w.right; ++ix)
          for (std::int64_t c = 0; c < unit; ++c)
            plane[(iy * in_->extent.width + ix) * unit + c] += g[out + c] * part;
    });
  }

 private:
  struct Window {
    std::int64_t top, bottom, left, right;
    std::int64_t size() const { return (bottom - top) * (right - left); }
  };

  bool is_max() const { return pool_.kind == model::Pooling2D::Kind::max; }

  // Calls visit(unit, offset of the output position, the window's real part).
  template <class Visit>
  void each_window(Visit visit) const {
    const Extent& in = in_->extent;
    const Extent& out = out_->extent;
    for (std::int64_t u = 0; u < out.units(); ++u)
      for (std::int64_t y = 0; y < out.height; ++y)
        for (std::int64_t x = 0; x < out.width; ++x) {
          const std::int64_t top = y * pool_.strides.height - top_,
                             left = x * pool_.strides.width - left_;
          visit(
              u, u * out.plane() + (y * out.width + x) * unit,
              Window{std::max<std::int64_t>(top, 0), std::min(top + pool_.size.height, in.height),
                     std::max<std::int64_t>(left, 0), std::min(left + pool_.size.width, in.width)});
        }
  }

  model::Pooling2D pool_;
  std::int64_t top_, left_;
};

class GlobalAverage final : public Op {
 public:
  using Op::Op;
  std::string method() const override { return "global average"; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const Extent& in = in_->extent;
    const float* x = pass.at(in_->value, sample, thread);
    float* y = pass.at(out_->value, sample, thread);
    std::fill_n(y, out_->extent.floats(), 0.f);
    for (std::int64_t u = 0; u < in.units(); ++u)
      for (std::int64_t p = 0; p < in.positions(); ++p)
        for (std::int64_t c = 0; c < unit; ++c) y[u * unit + c] += x[u * in.plane() + p * unit + c];
    for (std::int64_t c = 0; c < out_->extent.floats(); ++c)
      y[c] /= static_cast<float>(in.positions());
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    const Extent& in = in_->extent;
    const float* g = pass.at(out_->gradient, sample, thread);
    float* to = pass.at(in_->gradient, sample, thread);
    const float part = 1 / static_cast<float>(in.positions());
    for (std::int64_t u = 0; u < in.units(); ++u)
      for (std::int64_t p = 0; p < in.positions(); ++p)
        for (std::int64_t c = 0; c < unit; ++c)
          to[u * in.plane() + p * unit + c] = g[u * unit + c] * part;
  }
};

}  // namespace

std::unique_ptr<Op> make_pool(std::string name, const model::Pooling2D& pool,
                              const model::Shape& full, Tensor* in, Tensor* out) {
  return std::make_unique<Pool>(std::move(name), pool, full, in, out);
}

std::unique_ptr<Op> make_global_average(std::string name, Tensor* in, Tensor* out) {
  return std::make_unique<GlobalAverage>(std::move(name), in, out);
}

}  // namespace sweetspot::engine::cpu
