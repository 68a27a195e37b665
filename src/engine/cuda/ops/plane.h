#pragma once
#include "engine/cuda/kernels/layers.h"
#include "engine/cuda/op.h"

namespace sweetspot::engine::cuda {

inline Plane plane_of(const Tensor& t) { return {t.height, t.width, t.channels, t.pitch}; }
inline std::int64_t floats_of(const Tensor& t, const Pass& pass) {
  return std::int64_t{pass.count} * t.floats();
}

}  // namespace sweetspot::engine::cuda
