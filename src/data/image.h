#pragma once
#include <cstdint>

#include "data/dataset.h"

namespace sweetspot::data {

// By how many pixels an image moves down and to the right.
struct Shift {
  std::int64_t down = 0, right = 0;
};

// Up to two pixels each way, less where that would move a small image out of its frame; the same
// for the same seed, epoch and sample.
Shift random_shift(const Samples& shape, std::uint64_t seed, std::uint32_t epoch,
                   std::uint64_t sample);

// One image (height, width, channels) as the network takes it: bytes become [0, 1], floats stay;
// what a shift brings into view is 0.
void place_image(const Samples& shape, Shift by, const std::uint8_t* from, float* to);
void place_image(const Samples& shape, Shift by, const float* from, float* to);

}  // namespace sweetspot::data
