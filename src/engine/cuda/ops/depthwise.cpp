#include "engine/cuda/ops/ops.h"
#include "engine/cuda/ops/plane.h"

namespace sweetspot::engine::cuda {
namespace {

class Depthwise final : public Op {
 public:
  Depthwise(std::string name, const DepthwisePlane& p, bool relu, const ProductWeights& weights,
            Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), weights_(weights) {
    const auto narrow = [](std::int64_t n) { return static_cast<int>(n); };
    pass_.in = plane_of(*in), pass_.out = plane_of(*out);
    pass_.kernel_h = narrow(p.kernel_height), pass_.kernel_w = narrow(p.kernel_width);
    pass_.stride_h = narrow(p.stride_height), pass_.stride_w = narrow(p.stride_width);
    pass_.pad_top = narrow(p.pad_top), pass_.pad_left = narrow(p.pad_left);
    const auto by = [](int n) { return Divider(static_cast<std::uint32_t>(n)); };
    pass_.by_in_width = by(in->width), pass_.by_in_height = by(in->height);
    pass_.by_out_width = by(out->width), pass_.by_out_height = by(out->height);
    pass_.relu = relu;
  }
  std::string method() const override {
    return std::string("depthwise convolution") + (pass_.relu ? ", ReLU" : "") +
           (in_->value_terms.terms > 0 ? ", of 16 bits" : "");
  }
  void claim(Planner& planner) override {
    if (!planner.training()) return;
    partials_.weights = weights_.kernel;
    partials_.floats = std::int64_t{pass_.taps() + (weights_.bias ? 1 : 0)} * in_->pitch;
    partials_.splits =
        depthwise_splits(pass_, planner.micro_batch(), planner.chip().multiprocessors);
    partials_.offset = planner.claim_partials(partials_.floats * partials_.splits);
  }
  std::vector<PartialGradients> partials() const override { return {partials_}; }
  // The pass through ReLU's gradient has floats.
  bool writes_terms() const override { return !pass_.relu; }
  bool reads_terms(const Planner& planner) const override {
    return packed_terms(planner.math()) == 1;
  }
  bool writes_gradient_terms(const Planner& planner) const override {
    return wants_input_gradient && planner.training();
  }
  bool reads_gradient_terms(const Planner& planner) const override {
    return !pass_.relu && packed_terms(planner.math()) == 1;
  }
  bool writes_gradient_sums() const override { return false; }
  bool packs_floats() const override { return false; }
  bool reads_gradient_sums() const override { return false; }
  bool rounds() const override { return out_->gradient_terms.fp16; }
  bool shows_overflow_late() const override { return rounds(); }
  void forward(Pass& pass) const override {
    check(launch_depthwise(common(pass), pass.stream), "a depthwise convolution");
  }
  void backward(Pass& pass) const override {
    DepthwisePass d = common(pass);
    d.gradient = pass.at(out_->gradient), d.gradient_terms = out_->gradient_terms;
    if (wants_input_gradient) d.input_gradient = pass.at(in_->gradient);
    d.input_gradient_terms = in_->gradient_terms;
    if (d.gradient_terms.fp16) d.state = pass.state;
    d.partials = pass.partials + partials_.offset, d.partial_stride = partials_.floats;
    d.splits = partials_.splits;
    const char* doing = "a depthwise convolution's gradients";
    if (d.relu) check(launch_depthwise_mask(d, pass.stream), doing);
    if (d.input_gradient) check(launch_depthwise_data(d, pass.stream), doing);
    const Aside aside(pass);
    check(launch_depthwise_weights(d, pass.stream), doing);
  }

 private:
  DepthwisePass common(const Pass& pass) const {
    DepthwisePass d = pass_;
    d.count = pass.count;
    d.input = pass.at(in_->value), d.output = pass.at(out_->value);
    d.input_terms = in_->value_terms, d.output_terms = out_->value_terms;
    d.weights = pass.weights + weights_.kernel;
    d.bias = weights_.bias ? pass.weights + *weights_.bias : nullptr;
    return d;
  }
  ProductWeights weights_;
  DepthwisePass pass_{};
  PartialGradients partials_;
};

}  // namespace

std::unique_ptr<Op> make_depthwise(std::string name, const DepthwisePlane& plane, bool relu,
                                   const ProductWeights& weights, Tensor* in, Tensor* out) {
  return std::make_unique<Depthwise>(std::move(name), plane, relu, weights, in, out);
}

}  // namespace sweetspot::engine::cuda
