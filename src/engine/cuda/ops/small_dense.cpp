
#include "engine/cuda/kernels/small_dense.h"

#include "engine/cuda/ops/ops.h"
#include "engine/cuda/ops/scale_shift.h"
#include "engine/cuda/ops/tiles.h"

namespace sweetspot::engine::cuda {
namespace {

class SmallDenseOp final : public ProductOp {
 public:
  SmallDenseOp(std::string name, const ConvShape& shape, bool relu,
               const std::optional<FusedDropout>& dropout, const ProductWeights& weights,
               const std::optional<NormBehind>& norm, Tensor* in, Tensor* out)
      : ProductOp(std::move(name), in, out),
        shape_(shape),
        relu_(relu),
        dropout_(dropout),
        weights_(weights),
        norm_(norm) {
    if (dropout_) out->gradient_scale = static_cast<float>(1 / (1 - dropout_->rate));
  }

  std::string method() const override {
    std::string text = product_method(shape_, relu_, dropout_.has_value());
    if (norm_) text += ", batch normalisation";
    if (norm_ && norm_->activation != model::Activation::linear) text += ", activation";
    return text + ", few weights";
  }

  void merge(FirstConvOp&, std::int64_t) override {}

  void claim(Planner& planner) override {
    coded_ = relu_ || dropout_;
    if (coded_) code_ = planner.claim_samples(static_cast<core::Bytes>(shape_.filters));
    partials_.weights = weights_.kernel;
    partials_.floats =
        std::int64_t{shape_.channels} * shape_.filters + (weights_.bias ? shape_.filters : 0);
    partials_.offset = planner.claim_partials(partials_.floats);
    if (!norm_) return;
    const core::Bytes bytes = static_cast<core::Bytes>(shape_.filters) * sizeof(float);
    before_ = planner.claim_samples(bytes);
    mean_ = planner.claim(bytes), scale_ = planner.claim(bytes);
    norm_partials_.claim(planner, norm_->weights.gamma, norm_->weights.beta, shape_.filters, 1);
  }
  std::vector<PartialGradients> partials() const override {
    std::vector<PartialGradients> list = norm_partials_.list();
    list.insert(list.begin(), partials_);
    return list;
  }
  bool takes_function() const override { return !norm_; }
  bool rounds() const override { return false; }
  bool passes_through_function() const override { return true; }

  void forward(Pass& pass) const override {
    SmallDense d = common(pass);
    d.part.relu = relu_, d.part.function = function, d.part.outputs = out_->channels;
    if (dropout_) d.part.dropout = dropout_mask(*dropout_, out_->channels, pass);
    check(launch_small_dense(d, pass.stream), "a matrix product");
  }

  void backward(Pass& pass) const override {
    pass.flush();
    SmallDense d = common(pass);
    GemmPart& part = d.part;
    part.gradient = pass.at(out_->gradient);
    // Unless the producer of the gradient has undone it.
    if (out_->gradient_function == Function::linear) part.function = function;
    if (wants_input_gradient) {
      part.scale = in_->gradient_scale, part.input_function = in_->gradient_function;
      part.input_gradient = pass.at(in_->gradient);
      d.data_blocks = tiles(shape_.channels, small_inputs);
    }
    part.partials = pass.partials + partials_.offset;
    d.weight_blocks = tiles(shape_.channels, small_rows) * tiles(shape_.filters, small_columns);
    d.norm.gamma_gradient = norm_partials_.gamma(pass);
    d.norm.beta_gradient = norm_partials_.beta(pass);
    check(launch_small_dense_backward(d, pass.stream), "a matrix product");
  }

 private:
  SmallDense common(const Pass& pass) const {
    SmallDense d{};
    GemmPart& part = d.part = product_part(shape_, pass.count);
    part.input = pass.at(in_->value), part.weights = pass.weights + weights_.kernel;
    part.bias = weights_.bias ? pass.weights + *weights_.bias : nullptr;
    part.value = pass.at(norm_ ? before_ : out_->value);
    part.code = coded_ ? pass.at<std::uint8_t>(code_) : nullptr;
    part.state = pass.state;
    if (!norm_) return d;
    SmallNorm& n = d.norm;
    const NormWeights& w = norm_->weights;
    n.exists = true, n.channels = out_->channels, n.function = function_of(norm_->activation);
    n.momentum = static_cast<float>(norm_->layer.momentum);
    n.epsilon = static_cast<float>(norm_->layer.epsilon);
    n.gamma = w.gamma ? pass.weights + *w.gamma : nullptr;
    n.beta = w.beta ? pass.weights + *w.beta : nullptr;
    n.moving_mean = pass.weights + w.moving_mean;
    n.moving_variance = pass.weights + w.moving_variance;
    n.mean = pass.at(mean_), n.scale = pass.at(scale_), n.output = pass.at(out_->value);
    return d;
  }

  ConvShape shape_;
  bool relu_;
  std::optional<FusedDropout> dropout_;
  ProductWeights weights_;
  std::optional<NormBehind> norm_;
  core::Bytes code_ = 0, before_ = 0, mean_ = 0, scale_ = 0;
  bool coded_ = false;
  PartialGradients partials_;
  ScaleShiftPartials norm_partials_;
};

}  // namespace

bool runs_small(const ConvShape& shape, std::int64_t micro_batch, bool normalised) {
  return dense(shape) && micro_batch <= (normalised ? small_most_samples : few_samples_alone) &&
         small_dense_supports(shape);
}

std::unique_ptr<ProductOp> make_small_dense(std::string name, const ConvShape& shape, bool relu,
                                            const std::optional<FusedDropout>& dropout,
                                            const ProductWeights& weights,
                                            const std::optional<NormBehind>& norm, Tensor* in,
                                            Tensor* out) {
  return std::make_unique<SmallDenseOp>(std::move(name), shape, relu, dropout, weights, norm, in,
                                        out);
}

}  // namespace sweetspot::engine::cuda
