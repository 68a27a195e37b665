#include <algorithm>

#include "engine/cpu/ops/gather.h"
#include "engine/cpu/ops/ops.h"

namespace sweetspot::engine::cpu {
namespace {

class Depthwise final : public Op {
 public:
  Depthwise(std::string name, const DepthwiseGeometry& geometry, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), g_(geometry) {
    slot_floats = in->extent.units() * (g_.taps() + 1) * unit;
  }

  std::string method() const override {
    return g_.relu ? "depthwise convolution and ReLU" : "depthwise convolution";
  }
  bool keeps_input() const override { return true; }
  bool keeps_output() const override { return g_.relu; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const float* x = pass.at(in_->value, sample, thread);
    float* y = pass.at(out_->value, sample, thread);
    for (std::int64_t u = 0; u < units(); ++u)
      pass.kernels->layers.depthwise(g_.plane, x + u * in_->extent.plane(), weights(pass, u),
                                     g_.bias ? pass.weights + *g_.bias + u * unit : nullptr,
                                     g_.relu, y + u * out_->extent.plane());
  }

  // A unit's planes stay in the L1 or L2 cache between these calls.
  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t index) override {
    const float* x = pass.at(in_->value, sample, thread);
    float* g = pass.at(out_->gradient, sample, thread);
    float* sums = slot(pass, index);
    for (std::int64_t u = 0; u < units(); ++u) {
      float* gradient = g + u * out_->extent.plane();
      if (g_.relu)
        pass.kernels->pass_positive(pass.at(out_->value, sample, thread) + u * out_->extent.plane(),
                                    out_->extent.plane(), gradient);
      pass.kernels->layers.depthwise_weights(g_.plane, x + u * in_->extent.plane(), gradient,
                                             sums + u * g_.taps() * unit,
                                             g_.bias ? sums + bias_at() + u * unit : nullptr);
      if (wants_input_gradient)
        pass.kernels->layers.depthwise_data(
            g_.plane, gradient, weights(pass, u),
            pass.at(in_->gradient, sample, thread) + u * in_->extent.plane());
    }
  }

  void gather_part(const Pass& pass, int part, int parts) override {
    gather_slots(pass, slot(pass, 0), 0, bias_at(), pass.gradients + g_.weights, part, parts);
    if (g_.bias)
      gather_slots(pass, slot(pass, 0), bias_at(), units() * unit, pass.gradients + *g_.bias, part,
                   parts);
  }

 private:
  std::int64_t units() const { return in_->extent.units(); }
  std::int64_t bias_at() const { return units() * g_.taps() * unit; }
  const float* weights(const Pass& pass, std::int64_t u) const {
    return pass.weights + g_.weights + u * g_.taps() * unit;
  }

  DepthwiseGeometry g_;
};

}  // namespace

std::vector<std::int32_t> depthwise_places(std::int64_t taps, std::int64_t channels) {
  std::vector<std::int32_t> places;
  for (std::int64_t tap = 0; tap < taps; ++tap)
    for (std::int64_t c = 0; c < channels; ++c)
      places.push_back(static_cast<std::int32_t>((c / unit * taps + tap) * unit + c % unit));
  return places;
}

std::unique_ptr<Op> make_depthwise(std::string name, const DepthwiseGeometry& geometry, Tensor* in,
                                   Tensor* out) {
  return std::make_unique<Depthwise>(std::move(name), geometry, in, out);
}

}  // namespace sweetspot::engine::cpu
