#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/cpu/ops/ops.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

class LossOp final : public Op {
 public:
  LossOp(model::Loss loss, bool softmax, Tensor* in)
      : Op(std::string(name_of(loss)), in, nullptr),
        loss_(loss),
        softmax_(softmax),
        place_(keras_positions(in->extent)) {
    kept.bytes = aligned(sizeof(SampleLoss));
    ScratchLayout scratch;
    scratch.add_floats(2 * size());
    temporary.bytes = scratch.size();
  }

  std::string method() const override { return softmax_ ? "softmax and loss" : "loss"; }
  bool keeps_input() const override { return true; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    if (!pass.training) compute(pass, sample, thread, nullptr);
  }
  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    compute(pass, sample, thread, pass.at(in_->gradient, sample, thread));
  }

 private:
  static std::string_view name_of(model::Loss loss) { return model::name(loss); }
  std::int64_t size() const { return static_cast<std::int64_t>(place_.size()); }

  void compute(const Pass& pass, std::int64_t sample, int thread, float* gradient) const {
    const float* x = pass.at(in_->value, sample, thread);
    float* y = pass.at(temporary, sample, thread);  // outputs in Keras' order, then their gradient
    float* dy = y + size();
    for (std::int64_t i = 0; i < size(); ++i) y[i] = x[place_[static_cast<std::size_t>(i)]];
    const std::int64_t best = softmax_ ? std::max_element(y, y + size()) - y : largest(y);
    auto* result = pass.at<SampleLoss>(kept, sample, thread);
    const float* target = pass.targets ? pass.targets + sample * size() : nullptr;
    const std::int64_t label = target ? largest(target) : pass.labels[sample];
    result->correct = best == label;
    const double log_sum = softmax_ ? log_of_softmax(pass, y, y[best]) : 0;
    result->loss = loss_ == model::Loss::mean_squared_error
                       ? squared_error(pass, y, dy, sample)
                       : cross_entropy(x, y, dy, target, label, log_sum);
    if (!gradient) return;
    std::fill_n(gradient, in_->extent.floats(), 0.f);
    const float scale = 1 / static_cast<float>(pass.batch);
    for (std::int64_t i = 0; i < size(); ++i)
      gradient[place_[static_cast<std::size_t>(i)]] = dy[i] * scale;
  }

  // Turns logits into probabilities; returns the logarithm of Σ exp(logit).
  double log_of_softmax(const Pass& pass, float* y, float largest) const {
    return largest + std::log(pass.kernels->softmax(y, size(), largest));
  }

  double cross_entropy(const float* x, const float* y, float* dy, const float* target,
                       std::int64_t label, double log_sum) const {
    double loss = 0;
    float weight = target ? 0.f : 1.f;  // of the sample: Σ target
    for (std::int64_t i = 0; target && i < size(); ++i) weight += target[i];
    for (std::int64_t i = 0; i < size(); ++i) {
      const float t = target ? target[i] : static_cast<float>(i == label);
      if (t != 0) loss += t * (log_sum - x[place_[static_cast<std::size_t>(i)]]);
      dy[i] = y[i] * weight - t;
    }
    return loss;
  }

  // The first of the largest, which is looked for in blocks: an autoencoder has as many outputs as
  // inputs.
  std::int64_t largest(const float* values) const {
    constexpr std::int64_t block = 16;
    std::int64_t from = 0;
    float most = values[0];
    for (std::int64_t i = 0; i < size(); i += block) {
      const std::int64_t end = std::min(i + block, size());
      bool more = false;
      for (std::int64_t j = i; j < end; ++j) more |= values[j] > most;
      if (more) from = std::max_element(values + i, values + end) - values, most = values[from];
    }
    return from;
  }

  double squared_error(const Pass& pass, const float* y, float* dy, std::int64_t sample) const {
    const float* target = pass.targets ? pass.targets + sample * size() : nullptr;
    const std::int64_t label = target ? -1 : pass.labels[sample];
    const double twice = 2 / static_cast<double>(size());
    constexpr std::int64_t lanes = 8;  // whose sums do not wait for one another
    double sums[lanes] = {};
    const auto add = [&](std::int64_t i, std::int64_t lane) {
      const double error = y[i] - (target ? target[i] : static_cast<float>(i == label));
      sums[lane] += error * error;
      dy[i] = static_cast<float>(error * twice);
    };
    std::int64_t i = 0;
    for (; i + lanes <= size(); i += lanes)
      for (std::int64_t lane = 0; lane < lanes; ++lane) add(i + lane, lane);
    for (; i < size(); ++i) add(i, i % lanes);
    if (softmax_) differentiate_softmax(y, dy);
    return std::accumulate(sums, sums + lanes, 0.0) / static_cast<double>(size());
  }

  void differentiate_softmax(const float* y, float* dy) const {
    const auto inner = static_cast<float>(std::inner_product(y, y + size(), dy, 0.0));
    for (std::int64_t i = 0; i < size(); ++i) dy[i] = y[i] * (dy[i] - inner);
  }

  model::Loss loss_;
  bool softmax_;
  std::vector<std::int32_t> place_;
};

}  // namespace

std::unique_ptr<Op> make_loss(model::Loss loss, bool softmax, Tensor* in) {
  return std::make_unique<LossOp>(loss, softmax, in);
}

}  // namespace sweetspot::engine::cpu
