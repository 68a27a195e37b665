#include <algorithm>

#include "engine/cuda/ops/product.h"

namespace sweetspot::engine::cuda {
namespace {

class SampleConv final : public FirstConvOp {
 public:
  SampleConv(std::string name, const ConvShape& shape, int full_h, int full_w, bool relu,
             const ProductWeights& weights, Tensor* out)
      : FirstConvOp(std::move(name), nullptr, out),
        shape_(shape),
        full_h_(full_h),
        full_w_(full_w),
        relu_(relu),
        weights_(weights) {}

  std::string method() const override {
    return std::string("convolution straight from the samples") + (relu_ ? ", ReLU" : "") +
           ", max pooling";
  }

  void claim(Planner& planner) override {
    multiprocessors_ = planner.chip().multiprocessors;
    if (!planner.training()) return;
    const std::int64_t four_blocks_each = 4 * multiprocessors_;
    code_ = planner.claim_samples(static_cast<core::Bytes>(shape_.out_floats()));
    partials_.weights = weights_.kernel;
    partials_.floats =
        std::int64_t{shape_.depth()} * shape_.filters + (weights_.bias ? shape_.filters : 0);
    const std::int64_t samples = std::min(planner.micro_batch(), four_blocks_each);
    parts_ = merged
                 ? 1
                 : static_cast<int>(std::clamp<std::int64_t>(2 * multiprocessors_ / samples, 1, 4));
    partials_.splits = static_cast<int>(samples) * parts_;
    partials_.offset = planner.claim_partials(partials_.floats * partials_.splits);
  }
  std::vector<PartialGradients> partials() const override { return {partials_}; }

  FirstConv forward_part(const Pass& pass) const override {
    FirstConv conv = common(pass);
    if (!pass.training) conv.code = nullptr;
    const int enough_samples = 2 * multiprocessors_;
    conv.tensor = pass.math != Math::fp32 && shape_.filters % 32 == 0;
    conv.filter_blocks = pass.count >= enough_samples ? 1 : conv.tensor ? 2 : shape_.filters / 8;
    set_strips(conv);
    return conv;
  }
  void forward(Pass& pass) const override {
    if (!merged_forward(pass))
      check(launch_first_conv(forward_part(pass), pass.stream), "the first convolution");
  }
  const ConvShape& shape() const override { return shape_; }
  FirstConv backward_part(const Pass& pass) const override {
    FirstConv conv = common(pass);
    conv.gradient = pass.at(out_->gradient);
    conv.partials = pass.partials + partials_.offset, conv.partial_stride = partials_.floats;
    conv.splits = partials_.splits, conv.window_parts = parts_;
    conv.filter_blocks = 1;
    set_strips(conv);
    return conv;
  }
  void backward(Pass& pass) const override {
    if (!merged)
      check(launch_first_conv_weights(backward_part(pass), pass.stream),
            "the first convolution's gradients");
  }

 private:
  FirstConv common(const Pass& pass) const {
    FirstConv conv{};
    conv.shape = shape_, conv.full_h = full_h_, conv.full_w = full_w_;
    conv.source = pass.source, conv.count = pass.count, conv.relu = relu_;
    conv.weights = pass.weights + weights_.kernel;
    conv.bias = weights_.bias ? pass.weights + *weights_.bias : nullptr;
    conv.value = pass.at(out_->value), conv.code = pass.at<std::uint8_t>(code_);
    return conv;
  }

  ConvShape shape_;
  int full_h_, full_w_;
  bool relu_;
  ProductWeights weights_;
  core::Bytes code_ = 0;
  int parts_ = 1, multiprocessors_ = 1;
  PartialGradients partials_;
};

}  // namespace

std::unique_ptr<FirstConvOp> make_first_conv(std::string name, const ConvShape& shape, int full_h,
                                             int full_w, bool relu, const ProductWeights& weights,
                                             Tensor* out) {
  return std::make_unique<SampleConv>(std::move(name), shape, full_h, full_w, relu, weights, out);
}

}  // namespace sweetspot::engine::cuda
