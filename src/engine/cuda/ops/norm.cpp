
#include "engine/cuda/kernels/norm_held.h"
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
    shares_ = share_norm(rows(planner), padded(), planner.chip().multiprocessors);
    held_ = held(planner);
    if (!planner.training()) return;
    const core::Bytes bytes = static_cast<core::Bytes>(weights_.floats) * sizeof(float);
    mean_ = planner.claim(bytes), scale_ = planner.claim(bytes);
    if (fusion_.pooled) code_ = planner.claim_samples(static_cast<core::Bytes>(out_->floats()));
    if (held_.slices == 0) {
      planner.claim_scratch(2 * static_cast<core::Bytes>(shares_.slices) * bytes, padded());
      means_ = planner.claim(2 * bytes);
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
  int gradient_sum_slices(const Planner& planner) const override { return held(planner).slices; }
  // Few rows are bound by latency, not by bytes.
  bool reads_terms(const Planner& planner) const override {
    return packed_terms(planner.math()) == 1 && held(planner).slices == 0;
  }
  bool reads_gradient_terms(const Planner& planner) const override { return reads_terms(planner); }
  bool packs_floats() const override { return false; }
  bool reads_gradient_sums() const override { return false; }
  bool rounds() const override { return out_->gradient_terms.fp16; }
  void forward(Pass& pass) const override {
    NormPass n = common(pass);
    n.output = pass.at(out_->value), n.output_terms = out_->value_terms;
    check(held_.slices == 0 ? launch_norm(n, pass.stream) : launch_held(n, false, pass.stream),
          "batch normalisation");
  }
  void backward(Pass& pass) const override {
    NormPass n = common(pass);
    n.gradient = pass.at(out_->gradient), n.gradient_terms = out_->gradient_terms;
    if (n.gradient_terms.fp16) n.state = pass.state;
    if (wants_input_gradient) n.input_gradient = pass.at(in_->gradient);
    n.input_gradient_terms = in_->gradient_terms, n.sum_slices = in_->gradient_sum_slices;
    if (n.sum_slices > 0) n.sums = pass.partials + in_->gradient_sums;
    n.gamma_gradient = partials_.gamma(pass), n.beta_gradient = partials_.beta(pass);
    check(held_.slices == 0 ? launch_norm_backward(n, pass.stream)
                            : launch_held(n, true, pass.stream),
          "batch normalisation's gradients");
  }

 private:
  NormShares held(const Planner& planner) const {
    if (!planner.training()) return {0, 0};
    return share_norm_held(rows(planner), fusion_.pooled, padded(), planner.chip().warpgroups);
  }
  static cudaError_t launch_held(const NormPass& n, bool backward, cudaStream_t stream) {
    return (n.slices > 1 ? launch_norm_in_clusters : launch_norm_held)(n, backward, stream);
  }
  int rows(const Planner& planner) const { return rows(static_cast<int>(planner.micro_batch())); }
  int rows(int count) const { return fusion_.per_position ? count : count * in_->positions(); }
  int padded() const { return static_cast<int>(weights_.floats); }

  NormPass common(const Pass& pass) const {
    NormPass n{};
    n.rows = rows(pass.count), n.padded = padded();
    n.pitch = in_->pitch, n.channels = in_->channels;
    n.training = pass.training, n.function = function_of(fusion_.activation);
    n.pooled = fusion_.pooled, n.width = in_->width;
    n.by_windows_x = Divider(static_cast<std::uint32_t>(out_->width));
    if (n.pooled && n.training) n.code = pass.at<std::uint8_t>(code_);
    n.momentum = static_cast<float>(norm_.momentum), n.epsilon = static_cast<float>(norm_.epsilon);
    n.input = pass.at(in_->value), n.input_terms = in_->value_terms;
    n.gamma = weights_.gamma ? pass.weights + *weights_.gamma : nullptr;
    n.beta = weights_.beta ? pass.weights + *weights_.beta : nullptr;
    n.moving_mean = pass.weights + weights_.moving_mean;
    n.moving_variance = pass.weights + weights_.moving_variance;
    n.mean = pass.at(mean_), n.scale = pass.at(scale_);
    const NormShares& shares = held_.slices > 0 ? held_ : shares_;
    n.columns = shares.columns, n.slices = shares.slices;
    n.partials = pass.scratch, n.tickets = pass.tickets, n.means = pass.at(means_);
    return n;
  }
  model::BatchNormalization norm_;
  NormFusion fusion_;
  NormWeights weights_;
  NormShares shares_, held_;  // in two kernels, or in one if that has slices
  core::Bytes mean_ = 0, scale_ = 0, means_ = 0, code_ = 0;
  ScaleShiftPartials partials_;
};

}  // namespace

std::unique_ptr<Op> make_norm(std::string name, const model::BatchNormalization& norm,
                              const NormFusion& fusion, const NormWeights& weights, Tensor* in,
                              Tensor* out) {
  return std::make_unique<Norm>(std::move(name), norm, fusion, weights, in, out);
}

}  // namespace sweetspot::engine::cuda
