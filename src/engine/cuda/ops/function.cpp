#include "engine/cuda/ops/ops.h"
#include "engine/cuda/ops/plane.h"

namespace sweetspot::engine::cuda {
namespace {

class ElementFunction final : public Op {
 public:
  ElementFunction(std::string name, const engine::ElementFunction& function,
                  const std::optional<FusedDropout>& dropout, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), function_(function), dropout_(dropout) {}
  std::string method() const override { return dropout_ ? "activation, dropout" : "activation"; }
  void forward(Pass& pass) const override {
    FunctionPass f = common(pass);
    f.known = pass.at(in_->value), f.to = pass.at(out_->value);
    check(launch_function(f, pass.stream), "an activation");
  }
  void backward(Pass& pass) const override {
    FunctionPass f = common(pass);
    f.known = pass.at(derives_from_input(function_.kind) ? in_->value : out_->value);
    f.gradient = pass.at(out_->gradient), f.to = pass.at(in_->gradient);
    check(launch_function_backward(f, pass.stream), "an activation's gradient");
  }

 private:
  FunctionPass common(const Pass& pass) const {
    FunctionPass f{};
    f.function = function_, f.count = floats_of(*in_, pass);
    f.channels = in_->channels, f.padded = in_->pitch;
    if (dropout_) f.dropout = dropout_mask(*dropout_, out_->channels, pass);
    f.samples = pass.count, f.sample_floats = in_->floats();
    return f;
  }
  engine::ElementFunction function_;
  std::optional<FusedDropout> dropout_;
};

class Rescaling final : public Op {
 public:
  Rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        scale_(static_cast<float>(rescaling.scale)),
        offset_(static_cast<float>(rescaling.offset)) {}
  std::string method() const override { return "scale and shift"; }
  void forward(Pass& pass) const override { run(pass, in_->value, offset_, out_->value); }
  void backward(Pass& pass) const override { run(pass, out_->gradient, 0, in_->gradient); }

 private:
  void run(const Pass& pass, core::Bytes from, float shift, core::Bytes to) const {
    check(launch_scale_shift({scale_, shift, floats_of(*in_, pass), in_->channels, in_->pitch,
                              pass.at(from), pass.at(to)},
                             pass.stream),
          "scaling");
  }
  float scale_, offset_;
};

}  // namespace

std::unique_ptr<Op> make_function(std::string name, const engine::ElementFunction& function,
                                  const std::optional<FusedDropout>& dropout, Tensor* in,
                                  Tensor* out) {
  return std::make_unique<ElementFunction>(std::move(name), function, dropout, in, out);
}
std::unique_ptr<Op> make_rescaling(std::string name, const model::Rescaling& rescaling, Tensor* in,
                                   Tensor* out) {
  return std::make_unique<Rescaling>(std::move(name), rescaling, in, out);
}

}  // namespace sweetspot::engine::cuda
