#include "engine/cuda/kernels/dropout_gradient.h"
#include "engine/cuda/ops/ops.h"

namespace sweetspot::engine::cuda {
namespace {

class Input final : public Op {
 public:
  Input(const model::Shape& full, Tensor* out) : Op("input", nullptr, out), full_(full) {}
  std::string method() const override { return "gather"; }
  void forward(Pass& pass) const override {
    check(launch_gather(pass.source, pass.count, static_cast<int>(full_.height),
                        static_cast<int>(full_.width), static_cast<int>(full_.channels),
                        out_->height, out_->width, out_->pitch, pass.at(out_->value), pass.stream),
          "gathering a batch");
  }

 private:
  model::Shape full_;
};

class Activation final : public Op {
 public:
  Activation(std::string name, Function function, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), function_(function) {}
  std::string method() const override { return "activation"; }
  void forward(Pass& pass) const override {
    Elementwise e = common(pass);
    e.input = pass.at(in_->value), e.to = pass.at(out_->value);
    check(launch_activation(e, pass.stream), "an activation");
  }
  void backward(Pass& pass) const override {
    Elementwise e = common(pass);
    e.output = pass.at(out_->value), e.gradient = pass.at(out_->gradient);
    e.to = pass.at(in_->gradient);
    check(launch_activation_backward(e, pass.stream), "an activation's gradient");
  }

 private:
  Elementwise common(const Pass& pass) const {
    Elementwise e{};
    e.function = function_, e.count = std::int64_t{pass.count} * out_->floats();
    e.channels = out_->channels, e.padded = out_->pitch;
    return e;
  }
  Function function_;
};

class Dropout final : public Op {
 public:
  Dropout(std::string name, const FusedDropout& dropout, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), dropout_(dropout) {}
  std::string method() const override { return "dropout"; }
  void forward(Pass& pass) const override {
    DropoutPass d = common(pass);
    d.from = pass.at(in_->value), d.to = pass.at(out_->value);
    check(launch_dropout(d, pass.stream), "dropout");
  }
  void backward(Pass& pass) const override {
    DropoutPass d = common(pass);
    d.from = pass.at(out_->gradient), d.to = pass.at(in_->gradient);
    check(launch_dropout_gradient({d, in_->gradient_function, pass.at(in_->value)}, pass.stream),
          "dropout's gradient");
  }
  bool passes_through_function() const override { return true; }

 private:
  DropoutPass common(const Pass& pass) const {
    DropoutPass d{};
    d.mask = dropout_mask(dropout_, out_->channels, pass);
    d.sample_floats = out_->floats(), d.count = pass.count;
    d.width = out_->width, d.channels = out_->channels, d.padded = out_->pitch;
    return d;
  }
  FusedDropout dropout_;
};

class Pool final : public Op {
 public:
  Pool(std::string name, const PoolPass& geometry, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), geometry_(geometry) {}
  std::string method() const override { return geometry_.max ? "max pooling" : "average pooling"; }
  void claim(Planner& planner) override {
    if (geometry_.max && planner.training())
      winner_ = planner.claim_samples(
          static_cast<core::Bytes>(out_->floats()) *
          (geometry_.wide_places() ? sizeof(std::uint32_t) : sizeof(std::uint16_t)));
  }
  void forward(Pass& pass) const override {
    PoolPass p = common(pass);
    p.from = pass.at(in_->value), p.to = pass.at(out_->value);
    if (!pass.training) p.winner = nullptr;
    check(launch_pool(p, pass.stream), "pooling");
  }
  void backward(Pass& pass) const override {
    PoolPass p = common(pass);
    p.from = pass.at(out_->gradient), p.to = pass.at(in_->gradient);
    p.function = in_->gradient_function, p.value = pass.at(in_->value);
    check(launch_pool_backward(p, pass.stream), "pooling's gradient");
  }
  bool passes_through_function() const override { return true; }

 private:
  PoolPass common(const Pass& pass) const {
    PoolPass p = geometry_;
    p.count = pass.count;
    p.winner = p.max ? pass.at<void>(winner_) : nullptr;
    return p;
  }
  PoolPass geometry_;
  core::Bytes winner_ = 0;
};

}  // namespace

std::unique_ptr<Op> make_input(const model::Shape& full, Tensor* out) {
  return std::make_unique<Input>(full, out);
}
Function function_of(model::Activation activation) {
  return activation == model::Activation::relu      ? Function::relu
         : activation == model::Activation::sigmoid ? Function::sigmoid
         : activation == model::Activation::tanh    ? Function::tanh
                                                    : Function::linear;
}
std::unique_ptr<Op> make_activation(std::string name, model::Activation function, Tensor* in,
                                    Tensor* out) {
  return std::make_unique<Activation>(std::move(name), function_of(function), in, out);
}
std::unique_ptr<Op> make_dropout(std::string name, const FusedDropout& dropout, Tensor* in,
                                 Tensor* out) {
  return std::make_unique<Dropout>(std::move(name), dropout, in, out);
}
std::unique_ptr<Op> make_pool(std::string name, const model::Pooling2D& pool,
                              const model::Shape& full, Tensor* in, Tensor* out) {
  PoolPass g{};
  g.max = pool.kind == model::Pooling2D::Kind::max;
  g.in_h = in->height, g.in_w = in->width, g.out_h = out->height, g.out_w = out->width;
  g.padded = in->pitch;
  g.window_h = static_cast<int>(pool.size.height), g.window_w = static_cast<int>(pool.size.width);
  g.stride_h = static_cast<int>(pool.strides.height);
  g.stride_w = static_cast<int>(pool.strides.width);
  g.pad_top = static_cast<int>(
      model::padding_along(pool.padding, full.height, pool.size.height, pool.strides.height)
          .before);
  g.pad_left = static_cast<int>(
      model::padding_along(pool.padding, full.width, pool.size.width, pool.strides.width).before);
  return std::make_unique<Pool>(std::move(name), g, in, out);
}
std::unique_ptr<Op> make_global_average(std::string name, Tensor* in, Tensor* out) {
  PoolPass g{};
  g.in_h = g.window_h = g.stride_h = in->height, g.in_w = g.window_w = g.stride_w = in->width;
  g.out_h = g.out_w = 1, g.padded = in->pitch;
  return std::make_unique<Pool>(std::move(name), g, in, out);
}

}  // namespace sweetspot::engine::cuda
