#include "model/initialize.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace sweetspot::model {
namespace {

using Kind = Initializer::Kind;
using Mode = Initializer::Mode;
using Distribution = Initializer::Distribution;

// A normal distribution truncated at two sigmas has this standard deviation; Keras divides by it in
// VarianceScaling, and only there.
constexpr double truncated_stddev = 0.87962566103423978;

void fill_normal(const core::Random& random, double mean, double stddev, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(mean + stddev * random.normal(i));
}

// A draw beyond two sigmas is repeated from the same element's own numbers: a parameter has fewer
// than 2^40 elements, so the attempt can use the index's upper bits.
void fill_truncated(const core::Random& random, double mean, double stddev,
                    std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    double draw = random.normal(i);
    for (std::uint64_t attempt = 1; std::abs(draw) > 2; ++attempt)
      draw = random.normal(attempt << 40 | i);
    values[i] = static_cast<float>(mean + stddev * draw);
  }
}

void fill_uniform(const core::Random& random, double low, double high, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(low + (high - low) * double{random.uniform(i)});
}

double fan(const Parameter& parameter) {
  const auto in = static_cast<double>(parameter.fan_in);
  const auto out = static_cast<double>(parameter.fan_out);
  switch (parameter.initializer.mode) {
    case Mode::fan_in:
      return std::max(1.0, in);
    case Mode::fan_out:
      return std::max(1.0, out);
    case Mode::fan_avg:
      return std::max(1.0, (in + out) / 2);
  }
  return 1;
}

void fill_scaled(const core::Random& random, const Parameter& parameter, std::span<float> values) {
  const double variance = parameter.initializer.scale / fan(parameter);
  switch (parameter.initializer.distribution) {
    case Distribution::normal:
      return fill_normal(random, 0, std::sqrt(variance), values);
    case Distribution::truncated_normal:
      return fill_truncated(random, 0, std::sqrt(variance) / truncated_stddev, values);
    case Distribution::uniform: {
      const double limit = std::sqrt(3 * variance);
      return fill_uniform(random, -limit, limit, values);
    }
  }
}

}  // namespace

void initialize(const Parameter& parameter, std::uint32_t index, std::uint64_t seed,
                std::span<float> values) {
  const core::Random random(seed, core::Purpose::weights, index);
  const Initializer& with = parameter.initializer;
  switch (with.kind) {
    case Kind::zeros:
      return std::fill(values.begin(), values.end(), 0.0f);
    case Kind::ones:
      return std::fill(values.begin(), values.end(), 1.0f);
    case Kind::random_normal:
      return fill_normal(random, with.mean, with.stddev, values);
    case Kind::truncated_normal:
      return fill_truncated(random, with.mean, with.stddev, values);
    case Kind::random_uniform:
      return fill_uniform(random, with.low, with.high, values);
    case Kind::variance_scaling:
      return fill_scaled(random, parameter, values);
  }
}

}  // namespace sweetspot::model
