#pragma once
#include "engine/cuda/kernels/lanes.cuh"
#include "engine/cuda/kernels/math.cuh"
#include "engine/cuda/kernels/patches.h"

namespace sweetspot::engine::cuda {

struct Patch {
  int sample, y, x;  // its first position
  int count;         // of its positions, which are adjacent in memory
};

__device__ inline Patch patch_of(const Patches& p, const ConvShape& s, int i) {
  const int sample = p.by_each.quotient(i), at = i - sample * p.each;
  const int line = p.by_across.quotient(at), column = at - line * p.across;
  const int y = line * p.height, x = column * p.width;
  return {sample, y, x, min(p.height, s.out_h - y) * min(p.width, s.out_w - x)};
}

// The place in shared memory of the first pixel that position i of a patch reads.
__device__ inline int corner_of(const Patches& p, const ConvShape& s, int channels, int i) {
  return (i * s.stride_w + p.by_width.quotient(i) * p.lines_apart) * channels;
}
// And how far from there that of a row of the kernel (tap, channel) is.
__device__ inline int place_of(const Patches& p, const ConvShape& s, int channels, int row) {
  const int tap = row / channels, y = tap / s.kernel_w;
  return (y * p.pixels_w + tap - y * s.kernel_w) * channels + row - tap * channels;
}

// A patch's pixels (line, column, channel), zero where `code`, if any, says so; rounded to tf32.
template <bool rounds>
__device__ void load_patch(const Patches& p, const ConvShape& s, int channels, const Patch& patch,
                           const float* input, const std::uint8_t* code, float* to) {
  const int top = patch.y * s.stride_h - s.pad_top, left = patch.x * s.stride_w - s.pad_left;
  for (int c = 0; c < channels; c += 4) {
#pragma unroll 4
    for (int i = threadIdx.x; i < p.pixels_h * p.pixels_w; i += blockDim.x) {
      const int line = p.by_pixels_w.quotient(i);
      const int y = top + line, x = left + i - line * p.pixels_w;
      const bool inside = static_cast<unsigned>(y) < s.in_h && static_cast<unsigned>(x) < s.in_w;
      const std::int64_t from =
          ((std::int64_t{patch.sample} * s.in_h + y) * s.in_w + x) * s.channels + c;
      float4 v = inside ? load4(input + from) : float4{};
      if (code && inside) v = let_through(v, *reinterpret_cast<const uchar4*>(code + from));
      if constexpr (rounds) v = each(v, [](float e) { return Tf32::round(e); });
      float* at = to + i * channels + c;
      at[0] = v.x;
      if (c + 1 < channels) at[1] = v.y;
      if (c + 2 < channels) at[2] = v.z;
      if (c + 3 < channels) at[3] = v.w;
    }
  }
}

__device__ inline void split_terms(float x, float& first, float& rest) {
  first = Tf32::round(x), rest = Tf32::round(x - first);
}

}  // namespace sweetspot::engine::cuda
