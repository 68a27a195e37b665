#include "engine/cuda/kernels/loss_slices.h"
#include "engine/cuda/ops/product.h"
#include "engine/cuda/weights.h"

namespace sweetspot::engine::cuda {
namespace {

Head common(const Pass& pass, LossKind loss, bool softmax, const LossPlaces& places) {
  Head head{};
  head.count = pass.count, head.loss = loss, head.softmax = softmax;
  head.batch = pass.batch, head.begins = pass.begins;
  head.source = pass.source, head.state = pass.state;
  head.beta1 = pass.beta1, head.beta2 = pass.beta2;
  head.losses = pass.at(places.losses), head.correct = pass.at<std::uint8_t>(places.correct);
  return head;
}

LossPlaces claim_places(Planner& planner) {
  return {planner.claim_samples(sizeof(float)), planner.claim_samples(1)};
}

class HeadOp final : public LossOp {
 public:
  HeadOp(std::string name, int depth, int outputs, LossKind loss, bool softmax,
         const ProductWeights& weights, Tensor* in)
      : LossOp(std::move(name), in, nullptr),
        depth_(depth),
        outputs_(outputs),
        loss_(loss),
        softmax_(softmax),
        weights_(weights) {
    shape_.channels = depth, shape_.filters = padded(outputs);
  }
  std::string method() const override {
    return softmax_ ? "matrix product, softmax, loss and gradients"
                    : "matrix product, loss and gradients";
  }
  void claim(Planner& planner) override {
    places = claim_places(planner);
    if (!planner.training()) return;
    logit_gradient_ =
        planner.claim_samples(static_cast<core::Bytes>(shape_.filters) * sizeof(float));
    choice_ = choose_weight_gradient(planner.chip(), shape_, planner.micro_batch(), planner.math());
    partials_.weights = weights_.kernel;
    partials_.floats = std::int64_t{depth_} * shape_.filters + (weights_.bias ? shape_.filters : 0);
    partials_.splits = choice_.splits;
    partials_.offset = planner.claim_partials(partials_.floats * partials_.splits);
  }
  std::vector<PartialGradients> partials() const override { return {partials_}; }
  bool passes_through_function() const override { return true; }

  // In training, the pass that computes the loss continues to the input's gradient.
  void forward(Pass& pass) const override {
    Head head = common(pass, loss_, softmax_, places);
    head.depth = depth_, head.outputs = outputs_;
    head.weights = pass.weights + weights_.kernel;
    head.bias = weights_.bias ? pass.weights + *weights_.bias : nullptr;
    head.input = pass.at(in_->value);
    if (before && before->unfinished.count > 0) finish_before(head, pass);
    if (pass.training) {
      head.logit_gradient = pass.at(logit_gradient_);
      if (wants_input_gradient)
        head.input_gradient = pass.at(in_->gradient), head.input_scale = in_->gradient_scale,
        head.input_function = in_->gradient_function;
    }
    check(launch_head(head, pass.stream), "the loss");
  }
  // The weight gradient shares the next layer's launch.
  void backward(Pass& pass) const override {
    GemmPart part = product_part(shape_, pass.count);
    set_weight_gradient(part, choice_);
    part.input = pass.at(in_->value), part.gradient = pass.at(logit_gradient_);
    part.bias = weights_.bias ? pass.weights + *weights_.bias : nullptr;
    part.partials = pass.partials + partials_.offset, part.partial_stride = partials_.floats;
    part.state = pass.state;
    pass.add(part);
  }

 private:
  void finish_before(Head& head, const Pass& pass) const {
    const Unfinished& left = before->unfinished;
    head.slices = pass.at(left.slices), head.slice_count = left.count;
    head.slice_stride = left.stride, head.input_relu = left.relu;
    head.input_bias = left.bias ? pass.weights + *left.bias : nullptr;
    head.value = pass.at(in_->value);
    if (!pass.training) return;
    if (left.dropout) head.dropout = dropout_mask(*left.dropout, in_->channels, pass);
  }

  int depth_, outputs_;
  LossKind loss_;
  bool softmax_;
  ProductWeights weights_;
  ConvShape shape_;
  core::Bytes logit_gradient_ = 0;
  WeightGradient choice_;
  PartialGradients partials_;
};

class PlainLoss final : public LossOp {
 public:
  PlainLoss(std::string name, LossKind loss, bool softmax, Tensor* in)
      : LossOp(std::move(name), in, nullptr), loss_(loss), softmax_(softmax) {}
  std::string method() const override { return softmax_ ? "softmax and loss" : "loss"; }
  void claim(Planner& planner) override {
    places = claim_places(planner);
    const std::int64_t count = planner.micro_batch();
    slices_ = loss_slices(loss_, softmax_, tensors(), count, planner.chip().multiprocessors);
    if (slices_ > 1)
      planner.claim_scratch(static_cast<core::Bytes>(count * slices_) * sizeof(LossSlice),
                            static_cast<int>(count));
  }

  void forward(Pass& pass) const override {
    Head head = common(pass, loss_, softmax_, places);
    LossTensors t = tensors();
    t.outputs = pass.at(in_->value);
    if (pass.training) t.gradient = head.logit_gradient = pass.at(in_->gradient);
    const LossSlices slices{slices_, reinterpret_cast<LossSlice*>(pass.scratch), pass.tickets};
    check(slices_ > 0 ? launch_sliced_loss(head, t, slices, pass.stream)
                      : launch_loss(head, t, pass.stream),
          "the loss");
  }

 private:
  LossTensors tensors() const {
    return {nullptr, nullptr, in_->positions(), in_->channels, in_->pitch};
  }

  LossKind loss_;
  bool softmax_;
  int slices_ = 0;
};

}  // namespace

std::unique_ptr<LossOp> make_head(std::string name, int depth, int outputs, LossKind loss,
                                  bool softmax, const ProductWeights& weights, Tensor* in) {
  return std::make_unique<HeadOp>(std::move(name), depth, outputs, loss, softmax, weights, in);
}
std::unique_ptr<LossOp> make_loss(std::string name, LossKind loss, bool softmax, Tensor* in) {
  return std::make_unique<PlainLoss>(std::move(name), loss, softmax, in);
}

}  // namespace sweetspot::engine::cuda
