#pragma once
#include "engine/cuda/kernels/layers.h"
#include "engine/cuda/kernels/rows.cuh"
#include "engine/cuda/kernels/vectors.cuh"

// Passes over images, four channels per thread.
namespace sweetspot::engine::cuda {

// A pass with the rows of its tensor, whose extents are below 2^31.
template <class Pass>
struct Rows {
  Pass pass;
  RowShares shares;
  Positions positions;
};
template <class Pass>
Rows<Pass> rows_of(const Pass& pass, int count, const Plane& plane) {
  return {pass, RowShares(std::int64_t{count} * plane.height * plane.width, plane.pitch),
          Positions(plane.height, plane.width)};
}
// The first `channels` of four that begin with channel c.
__device__ inline float4 without_padding(float4 v, int c, int channels) {
  return {c < channels ? v.x : 0.f, c + 1 < channels ? v.y : 0.f, c + 2 < channels ? v.z : 0.f,
          c + 3 < channels ? v.w : 0.f};
}
__device__ inline std::int64_t index(const Plane& p, int sample, int y, int x, int c) {
  return ((std::int64_t{sample} * p.height + y) * p.width + x) * p.pitch + c;
}

}  // namespace sweetspot::engine::cuda
