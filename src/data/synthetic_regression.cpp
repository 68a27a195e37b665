#include <algorithm>
#include <cmath>
#include <span>

#include "data/synthetic.h"

namespace sweetspot::data {
namespace {

using core::Random;

constexpr double noise_deviation = 0.05;  // the targets' own is about 1

// (outputs, inputs), such that inputs of unit variance give outputs of unit variance.
std::vector<float> linear_map(const SyntheticOptions& options, std::size_t inputs) {
  const Random random = stream(options, Stream::shared);
  std::vector<float> weights(inputs * static_cast<std::size_t>(options.target_size));
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<float>(random.normal(i) / std::sqrt(static_cast<double>(inputs)));
  return weights;
}

// Uniform with unit variance, four from each call of the generator.
void fill_uniform(const Random& random, std::uint64_t first_index, std::span<float> out) {
  constexpr float sqrt3 = 1.7320508f;
  for (std::size_t at = 0; at < out.size(); at += 4) {
    const auto words = random.words(first_index + at / 4);
    for (std::size_t i = 0; i < std::min<std::size_t>(4, out.size() - at); ++i)
      out[at + i] = sqrt3 * (static_cast<float>(words[i] >> 8) * 0x1p-23f - 1);
  }
}

}  // namespace

void make_regression(const SyntheticOptions& options, const Split& split, Samples& samples) {
  const auto inputs = static_cast<std::size_t>(samples.sample_size());
  const auto outputs = static_cast<std::size_t>(options.target_size);
  const std::uint64_t calls_per_sample = (inputs + 3) / 4;
  const std::vector<float> weights = linear_map(options, inputs);
  const Random noise = stream(options, split.answers), values = stream(options, split.inputs);
  samples.target_size = options.target_size;
  samples.floats.resize(split.count * inputs);
  samples.targets.resize(split.count * outputs);
  for (std::size_t i = 0; i < split.count; ++i) {
    const std::span<float> x = std::span(samples.floats).subspan(i * inputs, inputs);
    fill_uniform(values, i * calls_per_sample, x);
    for (std::size_t o = 0; o < outputs; ++o) {
      double y = noise_deviation * noise.normal(i * outputs + o);
      for (std::size_t at = 0; at < inputs; ++at) y += double{weights[o * inputs + at]} * x[at];
      samples.targets[i * outputs + o] = static_cast<float>(y);
    }
  }
}

}  // namespace sweetspot::data
