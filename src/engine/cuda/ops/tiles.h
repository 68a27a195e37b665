#pragma once
#include "core/units.h"
#include "engine/cuda/kernels/launch.h"

// Which tiles a matrix product is cut into, and among how many blocks its depth is divided: chosen
// from its size and the chip, so that the same plan always adds up in the same order.
namespace sweetspot::engine::cuda {

inline int tiles(std::int64_t size, int tile) { return static_cast<int>((size + tile - 1) / tile); }
int tile_rows(TileKind tile);
int tile_columns(TileKind tile);

inline bool dense(const ConvShape& s) {
  return s.taps() == 1 && s.positions() == 1 && s.in_h * s.in_w == 1;
}

// The phases of the gradient of a strided convolution's input (loaders.cuh), and the size of each:
// that of the first, which none exceeds. One position has no phases, whatever the strides.
struct GradientPhases {
  int count, height, width, taps_y, taps_x;
  explicit GradientPhases(const ConvShape& s)
      : count(dense(s) ? 1 : s.stride_h * s.stride_w),
        height(tiles(s.in_h, s.stride_h)),
        width(tiles(s.in_w, s.stride_w)),
        taps_y(tiles(s.kernel_h, s.stride_h)),
        taps_x(tiles(s.kernel_w, s.stride_w)) {}
};

// Large tiles reuse more of what they load; small ones use more of the chip. Its multiprocessors
// are busy enough with this many blocks: 60 of an H200's 132.
int enough_blocks(const Chip& chip);

struct ProductSize {
  std::int64_t rows, columns, depth;
  bool dense = false;
  int phases = 1;
  bool weights = false;  // the gradient of weights
};

struct TileChoice {
  TileKind tile = TileKind::small;
  int splits = 1, split_depth = 1;
  // What the splits are written to before they are added up.
  struct Scratch {
    core::Bytes bytes = 0;
    int tickets = 0;
  };
  Scratch scratch(const ProductSize& size) const;
};
// For outputs and gradients of inputs, whose splits the kernel adds up itself.
TileChoice choose_tiles(const Chip& chip, const ProductSize& size);
// For gradients of weights, whose splits the update adds up.
TileChoice choose_weight_tiles(const Chip& chip, const ProductSize& size);
// Of the chip.
double expected_clocks(const Chip& chip, const ProductSize& size, const TileChoice& choice,
                       Math math);

}  // namespace sweetspot::engine::cuda
