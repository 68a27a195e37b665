#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// Weights are stored as (units, taps, 16).
struct DepthwiseGeometry {
  DepthwisePlane plane;
  bool relu = false;
  std::size_t weights = 0;  // offsets into the weight buffer, in floats
  std::optional<std::size_t> bias;

  std::int64_t taps() const { return plane.kernel_height * plane.kernel_width; }
};
// Keras' (height, width, channel) → index in the weights.
std::vector<std::int32_t> depthwise_places(std::int64_t taps, std::int64_t channels);

std::unique_ptr<Op> make_depthwise(std::string name, const DepthwiseGeometry& geometry, Tensor* in,
                                   Tensor* out);

}  // namespace sweetspot::engine::cpu
