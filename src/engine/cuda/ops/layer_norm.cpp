#include "engine/cuda/kernels/layers.h"
#include "engine/cuda/ops/ops.h"
#include "engine/cuda/ops/scale_shift.h"

namespace sweetspot::engine::cuda {
namespace {

class LayerNorm final : public Op {
 public:
  LayerNorm(std::string name, float epsilon, bool whole_sample, const LayerNormWeights& weights,
            Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        epsilon_(epsilon),
        weights_(weights),
        groups_(whole_sample ? 1 : in->positions()) {}
  std::string method() const override { return "layer normalisation"; }
  void claim(Planner& planner) override {
    if (!planner.training()) return;
    const auto groups = static_cast<core::Bytes>(groups_);
    mean_ = planner.claim_samples(groups * sizeof(float));
    rate_ = planner.claim_samples(groups * sizeof(float));
    const int splits = layer_norm_splits(planner.micro_batch() * groups_, group_floats(),
                                         planner.chip().multiprocessors);
    partials_.claim(planner, weights_.gamma, weights_.beta, weights_.floats, splits);
  }
  std::vector<PartialGradients> partials() const override { return partials_.list(); }
  void forward(Pass& pass) const override {
    LayerNormPass n = common(pass);
    n.output = pass.at(out_->value);
    check(launch_layer_norm(n, pass.stream), "layer normalisation");
  }
  void backward(Pass& pass) const override {
    LayerNormPass n = common(pass);
    n.gradient = pass.at(out_->gradient), n.splits = partials_.splits();
    if (wants_input_gradient) n.input_gradient = pass.at(in_->gradient);
    n.gamma_partials = partials_.gamma(pass), n.beta_partials = partials_.beta(pass);
    const char* doing = "layer normalisation's gradients";
    if (n.input_gradient) check(launch_layer_norm_data(n, pass.stream), doing);
    if (!n.gamma_partials && !n.beta_partials) return;
    const Aside aside(pass);
    check(launch_layer_norm_weights(n, pass.stream), doing);
  }

 private:
  int group_floats() const { return in_->floats() / groups_; }
  LayerNormPass common(const Pass& pass) const {
    LayerNormPass n{};
    n.groups = std::int64_t{pass.count} * groups_, n.floats = group_floats();
    n.channels = in_->channels, n.pitch = in_->pitch, n.epsilon = epsilon_;
    n.input = pass.at(in_->value);
    n.gamma = weights_.gamma ? pass.weights + *weights_.gamma : nullptr;
    n.beta = weights_.beta ? pass.weights + *weights_.beta : nullptr;
    if (pass.training) n.mean = pass.at(mean_), n.rate = pass.at(rate_);
    return n;
  }
  float epsilon_;
  LayerNormWeights weights_;
  int groups_;
  core::Bytes mean_ = 0, rate_ = 0;
  ScaleShiftPartials partials_;
};

}  // namespace

std::unique_ptr<Op> make_layer_norm(std::string name, float epsilon, bool whole_sample,
                                    const LayerNormWeights& weights, Tensor* in, Tensor* out) {
  return std::make_unique<LayerNorm>(std::move(name), epsilon, whole_sample, weights, in, out);
}

}  // namespace sweetspot::engine::cuda
