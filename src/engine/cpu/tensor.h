#pragma once
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "engine/cpu/kernels/kernels.h"
#include "engine/extents.h"
#include "model/network.h"

namespace sweetspot::engine::cpu {

// The index in the extent of element i of Keras' (height, width, channels) order.
std::vector<std::int32_t> keras_positions(const Extent& extent);

// Zeroes the padding channels of one sample, as the following operations expect.
void clear_padding(const Extent& extent, float* sample);

// A region of memory for one sample: in the arena, where every sample of the micro-batch has its
// own unless one is shared by all, or in each thread's scratch, which has as many copies as a stage
// takes samples at once.
struct Allocation {
  bool per_thread = false, once = false;
  bool of_block = false;    // in scratch: one for all threads that share a block of samples
  std::int64_t copies = 1;  // in scratch
  std::int64_t block = 1;   // in the arena there are whole blocks of samples
  core::Bytes bytes = 0;    // per sample, or for all
  core::Bytes offset = 0;   // set by the planner
};

// What flows between two operations, and its gradient in the backward pass.
struct Tensor {
  Extent extent;
  Allocation value, gradient;
  Tensor* same_value_as = nullptr;  // shares that tensor's value, with its own gradient
  bool tiled = false;               // as in kernels/sample_tiles.h
  bool rounded = false;             // as Bf16Kernels::round_row_tiles makes it
};

}  // namespace sweetspot::engine::cpu
