#include "engine/cpu/ops/ops.h"

namespace sweetspot::engine::cpu {
namespace {

// If f(0) ≠ 0, the padding has to be cleared.
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
    const Allocation& known = keeps_input() ? in_->value : out_->value;
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

std::unique_ptr<Op> make_function(std::string name, const model::Activation& activation, Tensor* in,
                                  Tensor* out) {
  return std::make_unique<FunctionOp>(std::move(name), *element_function(activation), in, out);
}

std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out) {
  return std::make_unique<Rescaling>(std::move(name), rescaling, in, out);
}

}  // namespace sweetspot::engine::cpu
