#include "engine/cpu/ops/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// Whether the statistics are the micro-batch's own.
bool measures(const Pass& pass) { return pass.training && !pass.moving_statistics; }

// The normalisation parameters of `features` units of 16 features, in the pass' shared memory.
class Statistics {
 public:
  Statistics(const BatchNormGeometry& geometry, const Extent& extent)
      : g_(geometry),
        extent_(extent),
        units_(g_.per_position ? extent.floats() / unit : extent.units()) {}

  std::int64_t units() const { return units_; }
  std::int64_t floats() const { return rows * units_ * unit; }

  // From the moving averages, or from a unit's moments over n values, which also update the
  // averages.
  void set_moving(const Pass& pass, float* shared, std::int64_t u) const {
    for (std::int64_t c = 0; c < unit; ++c)
      set(pass, shared, u, c, moving_mean(pass, u)[c], moving_variance(pass, u)[c]);
  }
  void set_measured(const Pass& pass, float* shared, std::int64_t u, const double* mean,
                    const double* variance) const {
    for (std::int64_t c = 0; c < unit; ++c) {
      set(pass, shared, u, c, mean[c], variance[c]);
      if (pass.keeps_averages) continue;
      float& average = moving_mean(pass, u)[c];
      float& spread = moving_variance(pass, u)[c];
      average = average * g_.momentum + static_cast<float>(mean[c]) * (1 - g_.momentum);
      spread = spread * g_.momentum + static_cast<float>(variance[c]) * (1 - g_.momentum);
    }
  }
  // From a unit's Σ gradient and Σ gradient · (x − mean) over n values.
  void set_gradients(const Pass& pass, float* shared, std::int64_t u, const double* sum,
                     const double* product, double n) const {
    for (std::int64_t c = 0; c < unit; ++c) {
      const double deviation = row(shared, Row::inverse_deviation, u)[c];
      // Through the statistics every value depends on every other, unless they are fixed.
      const double per_value = measures(pass) ? 1 / n : 0;
      row(shared, Row::average, u)[c] = static_cast<float>(sum[c] * per_value);
      row(shared, Row::slope, u)[c] =
          static_cast<float>(product[c] * per_value * deviation * deviation);
      const auto add = [&](const std::optional<std::size_t>& offset, double value) {
        if (!offset) return;
        float& to = pass.gradients[static_cast<std::int64_t>(*offset) + u * unit + c];
        to = static_cast<float>(value) + (pass.adds ? to : 0.f);
      };
      add(g_.gamma, product[c] * deviation);
      add(g_.beta, sum[c]);
    }
  }

  Normalise forward(float* shared, const Range& units, std::int64_t positions,
                    std::int64_t stride) const {
    return {row(shared, Row::mean, units.begin),
            row(shared, Row::scale, units.begin),
            row(shared, Row::shift, units.begin),
            units.end - units.begin,
            positions,
            stride,
            g_.relu};
  }
  NormaliseBack backward(float* shared, const Range& units, std::int64_t positions,
                         std::int64_t stride) const {
    return {row(shared, Row::mean, units.begin),
            row(shared, Row::scale, units.begin),
            row(shared, Row::average, units.begin),
            row(shared, Row::slope, units.begin),
            units.end - units.begin,
            positions,
            stride};
  }

 private:
  enum class Row { mean, inverse_deviation, scale, shift, average, slope };
  static constexpr std::int64_t rows = 6;

  float* row(float* shared, Row row, std::int64_t u) const {
    return shared + (static_cast<std::int64_t>(row) * units_ + u) * unit;
  }
  float* moving_mean(const Pass& pass, std::int64_t u) const {
    return pass.weights + g_.moving_mean + u * unit;
  }
  float* moving_variance(const Pass& pass, std::int64_t u) const {
    return pass.weights + g_.moving_variance + u * unit;
  }

  void set(const Pass& pass, float* shared, std::int64_t u, std::int64_t c, double average,
           double variance) const {
    // Padding channels must stay zero for the following operations.
    const std::int64_t channel = (g_.per_position ? u / extent_.positions() : u) * unit + c;
    const double deviation = 1 / std::sqrt(variance + g_.epsilon);
    const double gamma = g_.gamma ? pass.weights[*g_.gamma + u * unit + c] : 1.f;
    row(shared, Row::mean, u)[c] = static_cast<float>(average);
    row(shared, Row::inverse_deviation, u)[c] = static_cast<float>(deviation);
    row(shared, Row::scale, u)[c] =
        channel < extent_.channels ? static_cast<float>(gamma * deviation) : 0.f;
    row(shared, Row::shift, u)[c] = g_.beta ? pass.weights[*g_.beta + u * unit + c] : 0.f;
  }

  BatchNormGeometry g_;
  Extent extent_;
  std::int64_t units_;
};

// Each thread has some units of features and processes every sample of the micro-batch for them, so
// that no sum depends on the number of threads.
class VectorNorm final : public Op {
 public:
  VectorNorm(std::string name, const BatchNormGeometry& geometry, Tensor* in, Tensor* out)
      : Op(std::move(name), in, out), relu_(geometry.relu), statistics_(geometry, in->extent) {
    shared_floats = statistics_.floats();
  }

  std::string method() const override {
    return relu_ ? "batch normalisation and ReLU" : "batch normalisation";
  }
  bool whole() const override { return true; }
  bool keeps_input() const override { return true; }

  void forward_part(const Pass& pass, int, int part, int parts) override {
    each_group(part, parts, [&](const Range& units) {
      const float* x = pass.at(in_->value, 0, 0) + units.begin * unit;
      if (measures(pass)) {
        measure(pass, units, x);
      } else {
        for (std::int64_t u = units.begin; u < units.end; ++u)
          statistics_.set_moving(pass, shared(pass), u);
      }
      pass.kernels->normalise(statistics_.forward(shared(pass), units, pass.count, stride()), x,
                              pass.at(out_->value, 0, 0) + units.begin * unit);
    });
  }

  void backward_part(const Pass& pass, int, int part, int parts) override {
    each_group(part, parts, [&](const Range& units) {
      const std::int64_t first = units.begin * unit;
      const float* x = pass.at(in_->value, 0, 0) + first;
      float* g = pass.at(out_->gradient, 0, 0) + first;
      float sum[most_units * unit], product[most_units * unit];
      pass.kernels->normalise_sums(statistics_.forward(shared(pass), units, pass.count, stride()),
                                   x, g, g, sum, product);
      double total[most_units * unit], products[most_units * unit];
      std::copy_n(sum, (units.end - units.begin) * unit, total);
      std::copy_n(product, (units.end - units.begin) * unit, products);
      for (std::int64_t u = units.begin; u < units.end; ++u)
        statistics_.set_gradients(pass, shared(pass), u, total + (u * unit - first),
                                  products + (u * unit - first), static_cast<double>(pass.count));
      if (wants_input_gradient)
        pass.kernels->normalise_back(
            statistics_.backward(shared(pass), units, pass.count, stride()), x, g,
            pass.at(in_->gradient, 0, 0) + first);
    });
  }

 private:
  // Walked side by side: a quarter of a kilobyte of each sample.
  static constexpr std::int64_t most_units = 4;

  float* shared(const Pass& pass) const { return pass.shared + shared_offset; }
  std::int64_t stride() const { return in_->extent.floats(); }

  // Calls visit(units) for the groups of a part. They are smaller if some part would have none.
  template <class Visit>
  void each_group(int part, int parts, Visit visit) const {
    const std::int64_t units = statistics_.units();
    const std::int64_t size = std::clamp<std::int64_t>(units / parts, 1, most_units);
    const Range mine = share((units + size - 1) / size, part, parts);
    for (std::int64_t group = mine.begin; group < mine.end; ++group)
      visit(Range{group * size, std::min((group + 1) * size, units)});
  }

  void measure(const Pass& pass, const Range& units, const float* x) const {
    float mean[most_units * unit], squares[most_units * unit];
    pass.kernels->moments(x, units.end - units.begin, pass.count, stride(), mean, squares);
    for (std::int64_t u = units.begin; u < units.end; ++u) {
      double average[unit], variance[unit];
      for (std::int64_t c = 0; c < unit; ++c) {
        const std::int64_t feature = (u - units.begin) * unit + c;
        average[c] = mean[feature];
        variance[c] = squares[feature] / static_cast<double>(pass.count);
      }
      statistics_.set_measured(pass, shared(pass), u, average, variance);
    }
  }

  bool relu_;
  Statistics statistics_;
};

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

std::unique_ptr<Op> make_vector_norm(std::string name, const BatchNormGeometry& geometry,
                                     Tensor* in, Tensor* out) {
  return std::make_unique<VectorNorm>(std::move(name), geometry, in, out);
}

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
