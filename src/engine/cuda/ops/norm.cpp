
#include "engine/cuda/kernels/norm.h"

#include "engine/cuda/ops/ops.h"
#include "engine/cuda/ops/scale_shift.h"

namespace sweetspot::engine::cuda {
namespace {

class Norm final : public Op {
 public:
  Norm(std::string name, const model::BatchNormalization& norm, const NormFusion& fusion,
       const NormWeights& weights, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), norm_(norm), fusion_(fusion), weights_(weights) {}
  std::string method() const override {
    std::string text = "batch normalisation";
    if (fusion_.activation != model::Activation::linear) text += ", activation";
    if (fusion_.pooled) text += ", max pooling";
    if (held_.slices > 0) text += held_.slices > 1 ? ", in clusters" : ", in one kernel";
    if (in_->value_terms.terms > 0) text += ", of 16 bits";
    return text;
  }
  void claim(Planner& planner) override {
    shares_ = share_norm(rows(planner), padded(), planner.chip());
    if (!planner.training()) return;
    const NormPass n = pass_of(rows(planner));
    held_ = share_norm_held(n, false, planner.chip());
    held_back_ = share_norm_held(n, true, planner.chip());
    const core::Bytes bytes = static_cast<core::Bytes>(weights_.floats) * sizeof(float);
    mean_ = planner.claim(bytes), scale_ = planner.claim(bytes);
    if (fusion_.pooled) code_ = planner.claim_samples(static_cast<core::Bytes>(out_->floats()));
    if (held_.slices == 0 || held_back_.slices == 0) {
      planner.claim_scratch(2 * static_cast<core::Bytes>(shares_.slices) * bytes, 0);
      pivots_ = planner.claim(bytes);
    }
    partials_.claim(planner, weights_.gamma, weights_.beta, weights_.floats, 1);
  }
  std::vector<PartialGradients> partials() const override { return partials_.list(); }
  bool writes_terms() const override { return true; }
  bool writes_gradient_terms(const Planner& planner) const override {
    // The sums of a flattened image's elements are not those of its channels.
    const bool per_channel = !fusion_.per_position || in_->positions() == 1;
    return wants_input_gradient && planner.training() && per_channel;
  }
  // The gradients of a normalisation's input add up to zero.
  int gradient_sum_slices(const Planner&) const override { return 1; }
  // Few rows are bound by latency, not by bytes.
  bool reads_terms(const Planner& planner) const override {
    constexpr std::int64_t few = std::int64_t{1} << 18;
    return packed_terms(planner.math()) == 1 &&
           (!planner.training() || std::int64_t{rows(planner)} * padded() > few);
  }
  bool reads_gradient_terms(const Planner& planner) const override { return reads_terms(planner); }
  bool packs_floats() const override { return false; }
  bool reads_gradient_sums() const override { return false; }
  bool rounds() const override { return out_->gradient_terms.fp16; }
  void forward(Pass& pass) const override {
    NormPass n = common(pass);
    n.output = pass.at(out_->value);
    n.shares = held_.slices > 0 ? held_ : shares_;
    check(held_.slices > 0 ? launch_held(n, false, pass.stream) : launch_norm(n, pass.stream),
          "batch normalisation");
  }
  void backward(Pass& pass) const override {
    NormPass n = common(pass);
    n.gradient = pass.at(out_->gradient);
    if (n.gradient_terms.fp16) n.state = pass.state;
    if (wants_input_gradient) n.input_gradient = pass.at(in_->gradient);
    if (in_->gradient_sum_slices > 0) n.sums = pass.partials + in_->gradient_sums;
    n.gamma_gradient = partials_.gamma(pass), n.beta_gradient = partials_.beta(pass);
    n.shares = held_back_.slices > 0 ? held_back_ : shares_;
    check(held_back_.slices > 0 ? launch_held(n, true, pass.stream)
                                : launch_norm_backward(n, pass.stream),
          "batch normalisation's gradients");
  }

 private:
  static cudaError_t launch_held(const NormPass& n, bool backward, cudaStream_t stream) {
    return (n.shares.slices > 1 ? launch_norm_in_clusters : launch_norm_held)(n, backward, stream);
  }
  int rows(const Planner& planner) const { return rows(static_cast<int>(planner.micro_batch())); }
  int rows(int count) const { return fusion_.per_position ? count : count * in_->positions(); }
  int padded() const { return static_cast<int>(weights_.floats); }

  // What the division among blocks depends on.
  NormPass pass_of(int rows) const {
    NormPass n{};
    n.rows = rows, n.padded = padded(), n.pooled = fusion_.pooled;
    n.input_terms = in_->value_terms, n.gradient_terms = out_->gradient_terms;
    n.output_terms = out_->value_terms, n.input_gradient_terms = in_->gradient_terms;
    return n;
  }
  NormPass common(const Pass& pass) const {
    NormPass n = pass_of(rows(pass.count));
    n.pitch = in_->pitch, n.channels = in_->channels;
    n.training = pass.training, n.function = function_of(fusion_.activation);
    n.width = in_->width;
    n.by_windows_x = Divider(static_cast<std::uint32_t>(out_->width));
    if (n.pooled && n.training) n.code = pass.at<std::uint8_t>(code_);
    n.momentum = static_cast<float>(norm_.momentum), n.epsilon = static_cast<float>(norm_.epsilon);
    n.input = pass.at(in_->value);
    n.gamma = weights_.gamma ? pass.weights + *weights_.gamma : nullptr;
    n.beta = weights_.beta ? pass.weights + *weights_.beta : nullptr;
    n.moving_mean = pass.weights + weights_.moving_mean;
    n.moving_variance = pass.weights + weights_.moving_variance;
    n.mean = pass.at(mean_), n.scale = pass.at(scale_);
    n.partials = pass.scratch, n.pivots = pass.at(pivots_);
    return n;
  }
  model::BatchNormalization norm_;
  NormFusion fusion_;
  NormWeights weights_;
  // In two kernels, or in one if that has slices, forward and backward.
  NormShares shares_, held_{1, 0}, held_back_{1, 0};
  core::Bytes mean_ = 0, scale_ = 0, pivots_ = 0, code_ = 0;
  ScaleShiftPartials partials_;
};

}  // namespace

std::unique_ptr<Op> make_norm(std::string name, const model::BatchNormalization& norm,
                              const NormFusion& fusion, const NormWeights& weights, Tensor* in,
                              Tensor* out) {
  return std::make_unique<Norm>(std::move(name), norm, fusion, weights, in, out);
}

}  // namespace sweetspot::engine::cuda
