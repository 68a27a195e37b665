#include "engine/cuda/ops/ops.h"
#include "engine/cuda/ops/plane.h"

namespace sweetspot::engine::cuda {
namespace {

class Prelu final : public Op {
 public:
  Prelu(std::string name, const model::PReLU& prelu, const model::Shape& full, std::int64_t weights,
        std::int64_t floats, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out) {
    // A flattened image still has the image's layout.
    const bool flat = full.vector, one = flat && prelu.shares_channels;
    const int channels = prelu.shares_channels ? 1 : in->channels;
    const int full_width = flat ? in->width : static_cast<int>(full.width);
    const int full_height = flat ? in->height : static_cast<int>(full.height);
    const int width = one || (!flat && prelu.shares_width) ? 1 : full_width;
    const int height = one || (!flat && prelu.shares_height) ? 1 : full_height;
    pass_.stride_c = channels == 1 ? 0 : 1;
    pass_.stride_x = width == 1 ? 0 : channels;
    pass_.stride_y = height == 1 ? 0 : width * channels;
    pass_.alphas = height * width * channels, pass_.alpha_w = width, pass_.alpha_c = channels;
    pass_.plane = plane_of(*in);
    partials_.weights = weights, partials_.floats = floats;
  }
  std::string method() const override { return "parametric ReLU"; }
  void claim(Planner& planner) override {
    if (!planner.training()) return;
    const std::int64_t shared =
        std::int64_t{in_->positions()} * in_->channels / pass_.alphas * planner.micro_batch();
    partials_.splits = prelu_splits(shared, pass_.alphas);
    partials_.offset = planner.claim_partials(partials_.floats * partials_.splits);
  }
  std::vector<PartialGradients> partials() const override { return {partials_}; }
  void forward(Pass& pass) const override {
    PreluPass p = common(pass);
    p.output = pass.at(out_->value);
    check(launch_prelu(p, pass.stream), "a parametric ReLU");
  }
  void backward(Pass& pass) const override {
    PreluPass p = common(pass);
    p.gradient = pass.at(out_->gradient);
    if (wants_input_gradient) p.input_gradient = pass.at(in_->gradient);
    p.partials = pass.partials + partials_.offset, p.partial_stride = partials_.floats;
    p.splits = partials_.splits;
    check(launch_prelu_backward(p, pass.stream), "a parametric ReLU's gradients");
  }

 private:
  PreluPass common(const Pass& pass) const {
    PreluPass p = pass_;
    p.count = pass.count;
    p.input = pass.at(in_->value), p.alpha = pass.weights + partials_.weights;
    return p;
  }
  PreluPass pass_{};
  PartialGradients partials_;
};

}  // namespace

std::unique_ptr<Op> make_prelu(std::string name, const model::PReLU& prelu,
                               const model::Shape& full, std::int64_t weights, std::int64_t floats,
                               Tensor* in, Tensor* out) {
  return std::make_unique<Prelu>(std::move(name), prelu, full, weights, floats, in, out);
}

}  // namespace sweetspot::engine::cuda
