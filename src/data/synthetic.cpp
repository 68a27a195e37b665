#include "data/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>

#include "core/error.h"
#include "core/text.h"
#include "core/units.h"

// A data set generated from a seed. Sample i is the same for any number of samples.

namespace sweetspot::data {
namespace {

// Rejects what is empty or would not fit in any memory, before anything is allocated.
void check(const SyntheticOptions& options) {
  const bool positive = options.height > 0 && options.width > 0 && options.channels > 0 &&
                        options.classes >= 0 && (options.classes > 0 || options.target_size > 0);
  if (!positive || options.train_count == 0 || options.test_count == 0)
    throw core::InputError(fmt::format(
        "a synthetic data set of {} + {} samples of {}×{}×{} with {} cannot be made; all sizes "
        "must be positive",
        options.train_count, options.test_count, options.height, options.width, options.channels,
        options.classes != 0 ? fmt::format("{} classes", options.classes)
                             : fmt::format("{} targets", options.target_size)));
  constexpr double limit = 16.0 * core::GiB;
  const double size = static_cast<double>(options.height) * static_cast<double>(options.width) *
                      static_cast<double>(options.channels);
  const double count =
      static_cast<double>(options.train_count) + static_cast<double>(options.test_count);
  const double outputs = static_cast<double>(options.target_size);
  const double bytes = options.classes > 0
                           ? (count + options.classes) * size + count * sizeof(std::int32_t)
                           : count * (size + outputs) * sizeof(float);
  if (bytes > limit)
    throw core::InputError(
        fmt::format("a synthetic data set of {} + {} samples of {}×{}×{} is larger than {}; ask "
                    "for fewer samples",
                    options.train_count, options.test_count, options.height, options.width,
                    options.channels, core::format_bytes(static_cast<core::Bytes>(limit))));
}

Samples make_split(const SyntheticOptions& options, const Split& split) {
  Samples samples;
  samples.count = split.count;
  samples.height = options.height;
  samples.width = options.width;
  samples.channels = options.channels;
  (options.classes > 0 ? make_images : make_regression)(options, split, samples);
  return samples;
}

}  // namespace

Dataset make_synthetic(const SyntheticOptions& options) {
  check(options);
  Dataset dataset;
  dataset.name = "synthetic";
  dataset.classes = options.classes;
  dataset.train =
      make_split(options, {options.train_count, Stream::train_answers, Stream::train_inputs});
  dataset.test =
      make_split(options, {options.test_count, Stream::test_answers, Stream::test_inputs});
  return dataset;
}

namespace {

using core::Random;

// Pattern values are in [0, 128] and noise in [0, 127]: their sum is a byte without overflow.
constexpr float pattern_levels = 129;
constexpr std::uint32_t noise_mask = 0x7f;
// Coarse, so that small convolutions see slopes and pooling does not average the pattern out.
constexpr std::int64_t cells = 7;

// The two cells a pixel is between, and the interpolation weight.
struct Blend {
  std::int64_t cell;
  float share;
};

Blend blend(std::int64_t pixel, std::int64_t size) {
  if (size == 1) return {0, 0};
  const float at =
      static_cast<float>(pixel) * static_cast<float>(cells - 1) / static_cast<float>(size - 1);
  const std::int64_t cell = std::min(static_cast<std::int64_t>(at), cells - 2);
  return {cell, at - static_cast<float>(cell)};
}

// Random values on the coarse grid of one class and channel.
std::array<float, cells * cells> make_grid(const Random& random, std::int64_t plane) {
  std::array<float, cells * cells> grid;
  for (std::size_t i = 0; i < grid.size(); ++i)
    grid[i] = random.uniform(static_cast<std::uint64_t>(plane) * grid.size() + i);
  return grid;
}

// A smooth picture (height, width, channels) for each class: the grid, interpolated.
std::vector<std::uint8_t> class_patterns(const SyntheticOptions& options) {
  const Random random = stream(options, Stream::shared);
  const std::int64_t size = options.height * options.width * options.channels;
  std::vector<std::uint8_t> patterns(static_cast<std::size_t>(options.classes * size));
  for (std::int64_t plane = 0; plane < options.classes * options.channels; ++plane) {
    const std::int64_t label = plane / options.channels, channel = plane % options.channels;
    const auto grid = make_grid(random, plane);
    for (std::int64_t y = 0; y < options.height; ++y)
      for (std::int64_t x = 0; x < options.width; ++x) {
        const Blend v = blend(y, options.height), h = blend(x, options.width);
        const float* corner = &grid[static_cast<std::size_t>(v.cell * cells + h.cell)];
        const float above = corner[0] + h.share * (corner[1] - corner[0]);
        const float below = corner[cells] + h.share * (corner[cells + 1] - corner[cells]);
        const auto at = label * size + (y * options.width + x) * options.channels + channel;
        patterns[static_cast<std::size_t>(at)] =
            static_cast<std::uint8_t>((above + v.share * (below - above)) * pattern_levels);
      }
  }
  return patterns;
}

// 16 bytes of noise per call of the generator.
void add_noise(const Random& random, std::uint64_t first_index, std::span<std::uint8_t> pixels) {
  using Bytes16 = std::array<std::uint8_t, 16>;
  for (std::size_t at = 0; at < pixels.size(); at += sizeof(Bytes16)) {
    const auto noise = std::bit_cast<Bytes16>(random.words(first_index + at / sizeof(Bytes16)));
    const std::size_t count = std::min(sizeof(Bytes16), pixels.size() - at);
    for (std::size_t i = 0; i < count; ++i)
      pixels[at + i] = static_cast<std::uint8_t>(pixels[at + i] + (noise[i] & noise_mask));
  }
}

}  // namespace

void make_images(const SyntheticOptions& options, const Split& split, Samples& samples) {
  const auto patterns = class_patterns(options);
  const auto size = static_cast<std::size_t>(samples.sample_size());
  const std::uint64_t calls_per_sample = (size + 15) / 16;
  const Random labels = stream(options, split.answers), noise = stream(options, split.inputs);
  samples.labels.reserve(split.count);
  samples.bytes.reserve(split.count * size);
  for (std::size_t i = 0; i < split.count; ++i) {
    const auto label = labels.below(i, static_cast<std::uint64_t>(options.classes));
    const std::uint8_t* pattern = patterns.data() + label * size;
    samples.labels.push_back(static_cast<std::int32_t>(label));
    samples.bytes.insert(samples.bytes.end(), pattern, pattern + size);
    add_noise(noise, i * calls_per_sample, std::span(samples.bytes).last(size));
  }
}

namespace {

constexpr double noise_deviation = 0.05;  // the targets' own is about 1

// Where the outputs of an autoencoder read as many inputs as there are outputs, a sample would cost
// the square of its size: with more weights than this an output reads only the inputs around its
// own place.
constexpr std::size_t most_weights = std::size_t{1} << 16;
constexpr std::size_t least_reads = 16;

// From inputs of unit variance to outputs of unit variance.
struct LinearMap {
  std::size_t inputs, outputs, reads;
  std::vector<float> weights;  // (outputs, reads)

  LinearMap(const SyntheticOptions& options, std::size_t from)
      : inputs(from),
        outputs(static_cast<std::size_t>(options.target_size)),
        reads(std::min(inputs, std::max(most_weights / outputs, least_reads))),
        weights(outputs * reads) {
    const Random random = stream(options, Stream::shared);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(random.normal(i) / std::sqrt(static_cast<double>(reads)));
  }

  // Of the inputs, added to `y`.
  double output(std::size_t o, std::span<const float> x, double y) const {
    const float* row = &weights[o * reads];
    const float* first = &x[(inputs - reads) * o / outputs];
    for (std::size_t i = 0; i < reads; ++i) y += double{row[i]} * first[i];
    return y;
  }
};

// Uniform with unit variance, four values per call of the generator.
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
  const LinearMap map(options, inputs);
  const Random noise = stream(options, split.answers), values = stream(options, split.inputs);
  samples.target_size = options.target_size;
  samples.floats.resize(split.count * inputs);
  samples.targets.resize(split.count * outputs);
  for (std::size_t i = 0; i < split.count; ++i) {
    const std::span<float> x = std::span(samples.floats).subspan(i * inputs, inputs);
    fill_uniform(values, i * calls_per_sample, x);
    for (std::size_t o = 0; o < outputs; ++o)
      samples.targets[i * outputs + o] =
          static_cast<float>(map.output(o, x, noise_deviation * noise.normal(i * outputs + o)));
  }
}

}  // namespace sweetspot::data
