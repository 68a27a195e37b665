#include "engine/cpu/ops/function.h"

namespace sweetspot::engine::cpu {
namespace {

// Where zero does not stay zero, the padding has to be cleared.
bool moves_zero(const ElementFunction& f) {
  using Kind = ElementFunction::Kind;
  return f.kind == Kind::softplus || f.kind == Kind::exponential || f.kind == Kind::hard_sigmoid ||
         (f.kind == Kind::rectified && f.threshold != 0);
}

class FunctionOp final : public Op {
 public:
  FunctionOp(std::string name, const ElementFunction& function, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), function_(function) {}
  std::string method() const override { return "activation"; }
  bool keeps_input() const override { return derives_from_input(function_.kind); }
  bool keeps_output() const override { return !derives_from_input(function_.kind); }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    float* y = pass.at(out_->value, sample, thread);
    pass.kernels->layers.apply(function_, pass.at(in_->value, sample, thread), in_->extent.floats(),
                               y);
    if (moves_zero(function_)) clear_padding(out_->extent, y);
  }
  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    const Room& known = keeps_input() ? in_->value : out_->value;
    pass.kernels->layers.apply_back(function_, pass.at(known, sample, thread),
                                    pass.at(out_->gradient, sample, thread), in_->extent.floats(),
                                    pass.at(in_->gradient, sample, thread));
  }

 private:
  ElementFunction function_;
};

class Rescaling final : public Op {
 public:
  Rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        scale_(static_cast<float>(rescaling.scale)),
        offset_(static_cast<float>(rescaling.offset)) {}
  std::string method() const override { return "scale and shift"; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    float* y = pass.at(out_->value, sample, thread);
    pass.kernels->layers.scale_shift(pass.at(in_->value, sample, thread), scale_, offset_,
                                     in_->extent.floats(), y);
    if (offset_ != 0) clear_padding(out_->extent, y);
  }
  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    pass.kernels->layers.scale_shift(pass.at(out_->gradient, sample, thread), scale_, 0,
                                     in_->extent.floats(), pass.at(in_->gradient, sample, thread));
  }

 private:
  float scale_, offset_;
};

}  // namespace

std::optional<ElementFunction> element_function(const model::Activation& a) {
  using Kind = ElementFunction::Kind;
  const auto with = [&](Kind kind) { return ElementFunction{kind, a.slope, a.threshold, a.most}; };
  switch (a.kind) {
    case model::Activation::linear:
    case model::Activation::relu:
    case model::Activation::softmax:
    case model::Activation::sigmoid:
    case model::Activation::tanh:
      return std::nullopt;
    case model::Activation::rectified:
      return with(Kind::rectified);
    case model::Activation::elu:
      return with(Kind::elu);
    case model::Activation::selu:
      return with(Kind::selu);
    case model::Activation::gelu:
      return with(Kind::gelu);
    case model::Activation::gelu_tanh:
      return with(Kind::gelu_tanh);
    case model::Activation::swish:
      return with(Kind::swish);
    case model::Activation::softplus:
      return with(Kind::softplus);
    case model::Activation::softsign:
      return with(Kind::softsign);
    case model::Activation::exponential:
      return with(Kind::exponential);
    case model::Activation::hard_sigmoid:
      return with(Kind::hard_sigmoid);
  }
  return std::nullopt;
}

std::unique_ptr<Op> make_function(std::string name, const model::Activation& activation, Tensor* in,
                                  Tensor* out) {
  return std::make_unique<FunctionOp>(std::move(name), *element_function(activation), in, out);
}

std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out) {
  return std::make_unique<Rescaling>(std::move(name), rescaling, in, out);
}

}  // namespace sweetspot::engine::cpu
