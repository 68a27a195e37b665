#pragma once
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "engine/cpu/kernels/kernels.h"
#include "engine/extents.h"
#include "model/network.h"

namespace sweetspot::engine::cpu {

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
