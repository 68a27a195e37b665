#include "engine/cpu/ops/batch_norm.h"

#include <algorithm>
#include <cmath>

namespace sweetspot::engine::cpu {
namespace {

// Each thread has some units of 16 features and sees every sample of the micro-batch for them, so
// that no sum depends on the number of threads.
class BatchNorm final : public Op {
 public:
  BatchNorm(std::string name, const BatchNormGeometry& geometry, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out),
        g_(geometry),
        features_(g_.per_position ? in->extent.floats() / unit : in->extent.units()),
        positions_(g_.per_position ? 1 : in->extent.positions()) {
    shared_floats = 2 * features_ * unit;  // the micro-batch's mean and 1/σ
  }

  std::string method() const override { return "batch normalisation"; }
  bool whole() const override { return true; }
  bool keeps_input() const override { return true; }

  void forward_part(const Pass& pass, int, int part, int parts) override {
    const Range units = share(features_, part, parts);
    for (std::int64_t u = units.begin; u < units.end; ++u) {
      float mean[unit], scale[unit];
      statistics(pass, u, mean, scale);
      std::copy_n(mean, unit, means(pass) + u * unit);
      std::copy_n(scale, unit, scales(pass) + u * unit);
      for (std::int64_t c = 0; c < unit; ++c) scale[c] *= gamma(pass, u, c);
      for (std::int64_t s = 0; s < pass.count; ++s) {
        const float* x = at(pass, in_->value, s, u);
        float* y = at(pass, out_->value, s, u);
        for (std::int64_t p = 0; p < positions_; ++p)
          for (std::int64_t c = 0; c < unit; ++c)
            y[p * unit + c] = (x[p * unit + c] - mean[c]) * scale[c] +
                              (g_.beta ? pass.weights[*g_.beta + u * unit + c] : 0.f);
      }
      clear_padding(pass, u);
    }
  }

  void backward_part(const Pass& pass, int, int part, int parts) override {
    const Range units = share(features_, part, parts);
    const double n = static_cast<double>(pass.count * positions_);
    for (std::int64_t u = units.begin; u < units.end; ++u) {
      const float* mean = means(pass) + u * unit;
      const float* scale = scales(pass) + u * unit;
      double sum[unit]{}, product[unit]{};  // Σ g and Σ g · x̂
      for (std::int64_t s = 0; s < pass.count; ++s) {
        const float* x = at(pass, in_->value, s, u);
        const float* g = at(pass, out_->gradient, s, u);
        for (std::int64_t p = 0; p < positions_; ++p)
          for (std::int64_t c = 0; c < unit; ++c) {
            sum[c] += g[p * unit + c];
            product[c] += g[p * unit + c] * (x[p * unit + c] - mean[c]) * scale[c];
          }
      }
      add_gradients(pass, u, sum, product);
      if (!wants_input_gradient) continue;
      for (std::int64_t s = 0; s < pass.count; ++s) {
        const float* x = at(pass, in_->value, s, u);
        const float* g = at(pass, out_->gradient, s, u);
        float* to = at(pass, in_->gradient, s, u);
        for (std::int64_t p = 0; p < positions_; ++p)
          for (std::int64_t c = 0; c < unit; ++c) {
            const float normal = (x[p * unit + c] - mean[c]) * scale[c];
            to[p * unit + c] = gamma(pass, u, c) * scale[c] *
                               (g[p * unit + c] - static_cast<float>(sum[c] / n) -
                                normal * static_cast<float>(product[c] / n));
          }
      }
    }
  }

 private:
  float* means(const Pass& pass) const { return pass.shared + shared_offset; }
  float* scales(const Pass& pass) const { return means(pass) + features_ * unit; }
  float gamma(const Pass& pass, std::int64_t u, std::int64_t c) const {
    return g_.gamma ? pass.weights[*g_.gamma + u * unit + c] : 1.f;
  }
  float* at(const Pass& pass, const Room& room, std::int64_t sample, std::int64_t u) const {
    return pass.at(room, sample, 0) + u * positions_ * unit;
  }

  void statistics(const Pass& pass, std::int64_t u, float* mean, float* scale) const {
    float* moving_mean = pass.weights + g_.moving_mean + u * unit;
    float* moving_variance = pass.weights + g_.moving_variance + u * unit;
    if (!pass.training) {
      for (std::int64_t c = 0; c < unit; ++c)
        mean[c] = moving_mean[c], scale[c] = 1 / std::sqrt(moving_variance[c] + g_.epsilon);
      return;
    }
    const double n = static_cast<double>(pass.count * positions_);
    double sum[unit]{}, square[unit]{};
    each_value(pass, u, [&](const float* x, std::int64_t c) { sum[c] += *x; });
    for (double& total : sum) total /= n;
    each_value(pass, u,
               [&](const float* x, std::int64_t c) { square[c] += (*x - sum[c]) * (*x - sum[c]); });
    for (std::int64_t c = 0; c < unit; ++c) {
      const double variance = square[c] / n;
      mean[c] = static_cast<float>(sum[c]);
      scale[c] = static_cast<float>(1 / std::sqrt(variance + g_.epsilon));
      moving_mean[c] = moving_mean[c] * g_.momentum + mean[c] * (1 - g_.momentum);
      moving_variance[c] =
          moving_variance[c] * g_.momentum + static_cast<float>(variance) * (1 - g_.momentum);
    }
  }

  template <class Visit>
  void each_value(const Pass& pass, std::int64_t u, Visit visit) const {
    for (std::int64_t s = 0; s < pass.count; ++s) {
      const float* x = at(pass, in_->value, s, u);
      for (std::int64_t p = 0; p < positions_; ++p)
        for (std::int64_t c = 0; c < unit; ++c) visit(x + p * unit + c, c);
    }
  }

  // Channels beyond the last must stay zero for the operations behind.
  void clear_padding(const Pass& pass, std::int64_t u) const {
    const std::int64_t channel = (g_.per_position ? u / in_->extent.positions() : u) * unit;
    const std::int64_t used = std::min(unit, in_->extent.channels - channel);
    for (std::int64_t s = 0; used < unit && s < pass.count; ++s)
      for (std::int64_t p = 0; p < positions_; ++p)
        std::fill_n(at(pass, out_->value, s, u) + p * unit + used, unit - used, 0.f);
  }

  void add_gradients(const Pass& pass, std::int64_t u, const double* sum,
                     const double* product) const {
    for (std::int64_t c = 0; c < unit; ++c) {
      const auto add = [&](const std::optional<std::size_t>& offset, double value) {
        if (!offset) return;
        float& to = pass.gradients[*offset + u * unit + c];
        to = static_cast<float>(value) + (pass.adds ? to : 0.f);
      };
      add(g_.gamma, product[c]);
      add(g_.beta, sum[c]);
    }
  }

  BatchNormGeometry g_;
  std::int64_t features_, positions_;
};

}  // namespace

std::unique_ptr<Op> make_batch_norm(std::string name, const BatchNormGeometry& geometry, Tensor* in,
                                    Tensor* out) {
  return std::make_unique<BatchNorm>(std::move(name), geometry, in, out);
}

}  // namespace sweetspot::engine::cpu
