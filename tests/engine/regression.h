#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "convergence/noise_scale.h"
#include "engine/trainer.h"
#include "model/keras.h"

namespace sweetspot::engine::testing {

inline model::Network regression_network() {
  return model::read_keras(
      R"({"class_name": "Sequential", "keras_version": "2.11.0", "config": {"name": "regression",
         "layers": [{"class_name": "InputLayer", "config": {"name": "x", "batch_input_shape": [null, 48]}},
         {"class_name": "Dense", "config": {"name": "y", "units": 1, "use_bias": false}}]}})",
      "regression.json");
}

// y = w* · x + noise with independent uniform inputs: the moments of the gradient of the squared
// error are sums over the inputs, so the noise scale is known.
class Regression {
 public:
  static constexpr std::size_t pool = 1 << 16;

  // At these weights of regression_network().
  Regression(unsigned seed, const std::vector<float>& weights) : random_(seed) {
    for (int i = 0; i < inputs; ++i)
      variance_[i] = 0.5 + 0.02 * i, deviation_[i] = static_cast<float>(std::sqrt(variance_[i]));
    for (int i = 0; i < inputs; ++i) {
      distance_[i] = uniform(0.041f);
      truth_[i] = static_cast<float>(weights[static_cast<std::size_t>(i)] - distance_[i]);
    }
    draw();
  }

  // New samples of the same problem: an interval is valid for new samples.
  void draw() {
    const auto noise_deviation = static_cast<float>(std::sqrt(noise_variance));
    for (std::size_t s = 0; s < pool; ++s) {
      y_[s] = uniform(noise_deviation);
      for (std::size_t i = 0; i < inputs; ++i) {
        float& input = x_[s * inputs + i];
        input = uniform(deviation_[i]);
        y_[s] += truth_[i] * input;
      }
    }
  }

  // Starts anywhere in a pool that is far larger than the noise scale.
  BatchView batch(std::int64_t samples) {
    const std::size_t first = random_() % (pool - static_cast<std::size_t>(samples));
    return {samples, x_.data() + first * inputs, nullptr, y_.data() + first};
  }

  // The gradient of one sample is g = 2 (d·x − ε) x, so E[g] = 2Cd, and E|g|² needs x's fourth
  // moment, 9/5 of the squared variance for a uniform one.
  double noise_scale() const {
    double trace_c = 0, gradient = 0, second = 0;
    for (const double v : variance_) trace_c += v;
    for (int i = 0; i < inputs; ++i) {
      const double d2 = distance_[i] * distance_[i], v = variance_[i];
      gradient += 4 * d2 * v * v;
      second += 4 * d2 * (1.8 * v * v + v * (trace_c - v));
    }
    second += 4 * noise_variance * trace_c;
    return (second - gradient) / gradient;
  }

 private:
  static constexpr int inputs = 48;
  static constexpr double noise_variance = 0.5;

  // Of this deviation: on [−√3σ, √3σ], in 2^16 steps, two of a draw.
  float uniform(float deviation) {
    if (bits_left_ == 0) drawn_ = static_cast<std::uint32_t>(random_()), bits_left_ = 32;
    const float value = (static_cast<float>(drawn_ & 0xffff) + 0.5f) * 0x1p-15f - 1;
    drawn_ >>= 16, bits_left_ -= 16;
    return value * 1.7320508f * deviation;
  }

  double variance_[inputs], distance_[inputs];  // of the inputs; of the weights from w*
  float deviation_[inputs], truth_[inputs];
  std::mt19937 random_;
  std::uint32_t drawn_ = 0;
  int bits_left_ = 0;
  std::vector<float> x_ = std::vector<float>(pool * inputs), y_ = std::vector<float>(pool);
};

// Within a tenth; returns whether it is also within the interval.
inline bool expect_noise_scale(const convergence::NoiseScale& scale, const Regression& problem) {
  const auto estimate = scale.estimate();
  const double truth = problem.noise_scale();
  if (!estimate || !estimate->samples) {
    ADD_FAILURE() << "no noise scale, where it is " << truth;
    return false;
  }
  const stats::Interval& found = *estimate->samples;
  EXPECT_NEAR(found.mean, truth, 0.1 * truth)
      << "interval " << found.low << " to " << found.high << " from " << estimate->observations;
  return found.low <= truth && truth <= found.high;
}

}  // namespace sweetspot::engine::testing
