#pragma once
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "engine/cpu/kernels/kernels.h"
#include "model/network.h"

namespace sweetspot::engine::cpu {

// One sample of a tensor lies in memory as (units, height, width, 16): channels in units of 16, the
// last one filled with zeros. A vector is an image of one position; a flattened image keeps its
// image layout, and the weights behind it are permuted instead.
struct Extent {
  std::int64_t height = 1, width = 1, channels = 1;

  std::int64_t units() const { return round_up(channels, unit) / unit; }
  std::int64_t positions() const { return height * width; }
  std::int64_t plane() const { return positions() * unit; }  // floats of one unit
  std::int64_t floats() const { return units() * plane(); }
  bool operator==(const Extent&) const = default;
};

// Where element i of Keras' (height, width, channels) order lies in the extent.
std::vector<std::int32_t> keras_positions(const Extent& extent);

// Zeroes the channels beyond the last of one sample, as whatever follows expects.
void clear_padding(const Extent& extent, float* sample);

// A place for one sample's worth of bytes: in the arena, where every sample of the micro-batch has
// its own unless there is one for all, or in each thread's scratch, which has as many as a stage
// takes samples at once.
struct Room {
  bool per_thread = false, once = false;
  std::int64_t copies = 1;  // in scratch
  core::Bytes bytes = 0;    // a sample's, or all
  core::Bytes offset = 0;   // set by the planner
};

// What flows between two operations, and its gradient on the way back.
struct Tensor {
  Extent extent;
  Room value, gradient;
  Tensor* same_value_as = nullptr;  // whose value this one's is, with a gradient of its own
};

}  // namespace sweetspot::engine::cpu
