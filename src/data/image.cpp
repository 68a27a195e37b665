#include "data/image.h"

#include <algorithm>

#include "core/random.h"

namespace sweetspot::data {
namespace {

// From -reach to reach, where reach leaves at least the middle of the image in view.
std::int64_t shift_within(std::uint32_t word, std::int64_t size) {
  const std::int64_t reach = std::min<std::int64_t>(2, (size - 1) / 2);
  const auto choices = static_cast<std::uint64_t>(2 * reach + 1);
  return static_cast<std::int64_t>(word * choices >> 32) - reach;
}

void convert(const std::uint8_t* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * (1.0f / 255);
}
void convert(const float* from, std::int64_t count, float* to) { std::copy_n(from, count, to); }

template <class Value>
void place(const Samples& shape, Shift by, const Value* from, float* to) {
  if (by.down == 0 && by.right == 0) return convert(from, shape.sample_size(), to);
  const std::int64_t row = shape.width * shape.channels, offset = by.right * shape.channels;
  const std::int64_t first = std::max<std::int64_t>(0, offset), last = std::min(row, row + offset);
  const std::int64_t top = std::max<std::int64_t>(0, by.down);
  const std::int64_t bottom = std::min(shape.height, shape.height + by.down);
  std::fill_n(to, shape.sample_size(), 0.0f);
  for (std::int64_t y = top; y < bottom; ++y)
    convert(from + (y - by.down) * row + first - offset, last - first, to + y * row + first);
}

}  // namespace

Shift random_shift(const Samples& shape, std::uint64_t seed, std::uint32_t epoch,
                   std::uint64_t sample) {
  const auto words = core::Random(seed, core::Purpose::augment, epoch).words(sample);
  return {shift_within(words[0], shape.height), shift_within(words[1], shape.width)};
}

void place_image(const Samples& shape, Shift by, const std::uint8_t* from, float* to) {
  place(shape, by, from, to);
}
void place_image(const Samples& shape, Shift by, const float* from, float* to) {
  place(shape, by, from, to);
}

}  // namespace sweetspot::data
