#include <algorithm>

#include "engine/cpu/ops/ops.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

class Pool final : public Op {
 public:
  Pool(std::string name, const model::Pooling2D& pool, const model::Shape& full, Tensor* in,
       Tensor* out)
      : Op(std::move(name), in, out),
        is_max_(pool.kind == model::Pooling2D::Kind::max),
        plane_{in->extent.height,
               in->extent.width,
               out->extent.height,
               out->extent.width,
               pool.size.height,
               pool.size.width,
               pool.strides.height,
               pool.strides.width,
               padding(pool, full.height, pool.size.height, pool.strides.height),
               padding(pool, full.width, pool.size.width, pool.strides.width)} {
    // The winner's position in the input plane.
    if (is_max_)
      kept.bytes = aligned(static_cast<core::Bytes>(out->extent.floats()) * sizeof(std::int32_t));
  }

  std::string method() const override { return is_max_ ? "max pooling" : "average pooling"; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const float* x = pass.at(in_->value, sample, thread);
    float* y = pass.at(out_->value, sample, thread);
    auto* winner = pass.at<std::int32_t>(kept, sample, thread);
    for (std::int64_t u = 0; u < out_->extent.units(); ++u) {
      const float* from = x + u * in_->extent.plane();
      const std::int64_t to = u * out_->extent.plane();
      if (is_max_)
        pass.kernels->max_pool(plane_, from, y + to, winner + to);
      else
        pass.kernels->average_pool(plane_, from, y + to);
    }
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    const float* g = pass.at(out_->gradient, sample, thread);
    float* to = pass.at(in_->gradient, sample, thread);
    const auto* winner = pass.at<std::int32_t>(kept, sample, thread);
    std::fill_n(to, in_->extent.floats(), 0.f);
    for (std::int64_t u = 0; u < out_->extent.units(); ++u) {
      const std::int64_t from = u * out_->extent.plane();
      float* plane = to + u * in_->extent.plane();
      if (is_max_)
        pass.kernels->max_pool_back(plane_, g + from, winner + from, plane);
      else
        pass.kernels->average_pool_back(plane_, g + from, plane);
    }
  }

 private:
  static std::int64_t padding(const model::Pooling2D& pool, std::int64_t full, std::int64_t size,
                              std::int64_t stride) {
    return model::padding_along(pool.padding, full, size, stride).before;
  }

  bool is_max_;
  PoolPlane plane_;
};

// One window over the whole plane.
class GlobalAverage final : public Op {
 public:
  GlobalAverage(std::string name, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), plane_{in->extent.height,
                                             in->extent.width,
                                             1,
                                             1,
                                             in->extent.height,
                                             in->extent.width,
                                             1,
                                             1,
                                             0,
                                             0} {}
  std::string method() const override { return "global average"; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const float* x = pass.at(in_->value, sample, thread);
    float* y = pass.at(out_->value, sample, thread);
    for (std::int64_t u = 0; u < in_->extent.units(); ++u)
      pass.kernels->average_pool(plane_, x + u * in_->extent.plane(), y + u * unit);
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    const float* g = pass.at(out_->gradient, sample, thread);
    float* to = pass.at(in_->gradient, sample, thread);
    std::fill_n(to, in_->extent.floats(), 0.f);
    for (std::int64_t u = 0; u < in_->extent.units(); ++u)
      pass.kernels->average_pool_back(plane_, g + u * unit, to + u * in_->extent.plane());
  }

 private:
  PoolPlane plane_;
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
