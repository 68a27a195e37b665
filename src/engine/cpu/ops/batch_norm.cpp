#include "engine/cpu/ops/batch_norm.h"

#include <algorithm>

#include "engine/cpu/ops/norm_statistics.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// The moments of each sample, and the backward pass through the statistics.
class Measure final : public Op {
 public:
  Measure(std::string name, const Statistics& statistics, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), statistics_(statistics) {
    shared_floats = statistics_.floats();
    kept.bytes = aligned(static_cast<core::Bytes>(2 * statistics_.units() * unit) * sizeof(float));
  }

  std::string method() const override { return "batch normalisation"; }  // of all three
  bool keeps_input() const override { return true; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    if (!measures(pass)) return;
    const float* x = pass.at(in_->value, sample, thread);
    float* to = sums(pass, sample);
    for (std::int64_t u = 0; u < statistics_.units(); ++u, to += 2 * unit)
      pass.kernels->moments(x + u * in_->extent.plane(), 1, in_->extent.positions(), unit, to,
                            to + unit);
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    if (!wants_input_gradient) return;
    const float* x = pass.at(in_->value, sample, thread);
    const float* g = pass.at(out_->gradient, sample, thread);
    float* to = pass.at(in_->gradient, sample, thread);
    for (std::int64_t u = 0; u < statistics_.units(); ++u) {
      const std::int64_t plane = u * in_->extent.plane();
      pass.kernels->normalise_back(
          statistics_.backward(shared(pass), {u, u + 1}, in_->extent.positions(), unit), x + plane,
          g + plane, to + plane);
    }
  }

  float* shared(const Pass& pass) const { return pass.shared + shared_offset; }
  // Of one sample: (units, 2, 16).
  float* sums(const Pass& pass, std::int64_t sample) const { return pass.at(kept, sample, 0); }

 private:
  Statistics statistics_;
};

// Merges the samples' sums into the micro-batch's, sample by sample, independent of the threads.
class Combine final : public Op {
 public:
  Combine(std::string name, const Statistics& statistics, const Measure& measure)
      : Op(std::move(name), nullptr, nullptr), statistics_(statistics), measure_(measure) {}

  std::string method() const override { return "batch statistics"; }
  bool whole() const override { return true; }

  void forward_part(const Pass& pass, int, int part, int parts) override {
    const Range units = share(statistics_.units(), part, parts);
    for (std::int64_t u = units.begin; u < units.end; ++u) {
      if (!measures(pass)) {
        statistics_.set_moving(pass, measure_.shared(pass), u);
        continue;
      }
      const double n = static_cast<double>(pass.count), positions = positions_of_a_sample();
      double mean[unit], spread[unit];
      sum(pass, u, mean, spread);  // Σ means, Σ squares
      for (std::int64_t c = 0; c < unit; ++c) mean[c] /= n;
      for (std::int64_t s = 0; s < pass.count; ++s) {
        const float* means = measure_.sums(pass, s) + 2 * u * unit;
        for (std::int64_t c = 0; c < unit; ++c) {
          const double d = means[c] - mean[c];
          spread[c] += positions * d * d;
        }
      }
      for (std::int64_t c = 0; c < unit; ++c) spread[c] /= n * positions;
      statistics_.set_measured(pass, measure_.shared(pass), u, mean, spread);
    }
  }

  void backward_part(const Pass& pass, int, int part, int parts) override {
    const Range units = share(statistics_.units(), part, parts);
    for (std::int64_t u = units.begin; u < units.end; ++u) {
      double total[unit], product[unit];
      sum(pass, u, total, product);
      statistics_.set_gradients(pass, measure_.shared(pass), u, total, product,
                                static_cast<double>(pass.count) * positions_of_a_sample());
    }
  }

 private:
  double positions_of_a_sample() const {
    return static_cast<double>(measure_.in()->extent.positions());
  }

  void sum(const Pass& pass, std::int64_t u, double* first, double* second) const {
    std::fill_n(first, unit, 0.), std::fill_n(second, unit, 0.);
    for (std::int64_t s = 0; s < pass.count; ++s) {
      const float* sums = measure_.sums(pass, s) + 2 * u * unit;
      for (std::int64_t c = 0; c < unit; ++c) first[c] += sums[c], second[c] += sums[unit + c];
    }
  }

  Statistics statistics_;
  const Measure& measure_;
};

class NormaliseOp final : public Op {
 public:
  NormaliseOp(std::string name, const Statistics& statistics, bool relu, const Measure& measure,
              Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), relu_(relu), statistics_(statistics), measure_(measure) {}

  std::string method() const override { return relu_ ? "normalisation and ReLU" : "normalisation"; }
  bool keeps_input() const override { return true; }
  bool repeats() const override { return true; }

  void forward(const Pass& pass, std::int64_t sample, int thread) override {
    const float* x = pass.at(in_->value, sample, thread);
    float* y = pass.at(out_->value, sample, thread);
    for (std::int64_t u = 0; u < statistics_.units(); ++u)
      pass.kernels->normalise(normal(pass, u), x + u * in_->extent.plane(),
                              y + u * in_->extent.plane());
  }

  void backward(const Pass& pass, std::int64_t sample, int thread, std::int64_t) override {
    const float* x = pass.at(in_->value, sample, thread);
    const float* g = pass.at(out_->gradient, sample, thread);
    float* passed = pass.at(in_->gradient, sample, thread);
    float* sums = measure_.sums(pass, sample);
    for (std::int64_t u = 0; u < statistics_.units(); ++u, sums += 2 * unit) {
      const std::int64_t plane = u * in_->extent.plane();
      pass.kernels->normalise_sums(normal(pass, u), x + plane, g + plane, passed + plane, sums,
                                   sums + unit);
    }
  }

 private:
  Normalise normal(const Pass& pass, std::int64_t u) const {
    return statistics_.forward(measure_.shared(pass), {u, u + 1}, in_->extent.positions(), unit);
  }

  bool relu_;
  Statistics statistics_;
  const Measure& measure_;
};

}  // namespace

ImageNorm make_image_norm(const std::string& name, const BatchNormGeometry& geometry, Tensor* in,
                          Tensor* measured, Tensor* out) {
  const Statistics statistics(geometry, in->extent);
  auto measure = std::make_unique<Measure>(name, statistics, in, measured);
  auto combine = std::make_unique<Combine>(name, statistics, *measure);
  auto normalise =
      std::make_unique<NormaliseOp>(name, statistics, geometry.relu, *measure, measured, out);
  return {std::move(measure), std::move(combine), std::move(normalise)};
}

}  // namespace sweetspot::engine::cpu
