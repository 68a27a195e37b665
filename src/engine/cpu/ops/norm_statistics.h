#pragma once
#include <cmath>
#include <cstdint>
#include <optional>

#include "engine/cpu/ops/batch_norm.h"

namespace sweetspot::engine::cpu {

// Whether the statistics are the micro-batch's own.
inline bool measures(const Pass& pass) { return pass.training && !pass.moving_statistics; }

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

}  // namespace sweetspot::engine::cpu
