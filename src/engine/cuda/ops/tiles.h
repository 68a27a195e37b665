#pragma once
#include "core/units.h"
#include "engine/cuda/kernels/launch.h"

// How a matrix product is tiled, and among how many blocks its depth is divided: chosen from its
// size and the chip, so that the same plan always sums in the same order.
namespace sweetspot::engine::cuda {

inline int tiles(std::int64_t size, int tile) { return static_cast<int>((size + tile - 1) / tile); }
int tile_rows(TileKind tile);
int tile_columns(TileKind tile);

inline bool dense(const ConvShape& s) {
  return s.taps() == 1 && s.positions() == 1 && s.in_h * s.in_w == 1;
}

// The phases of the input gradient of a strided convolution (loaders.cuh), and the size of the
// first, which is the largest. One position has no phases, whatever the strides.
struct GradientPhases {
  int count, height, width, taps_y, taps_x;
  explicit GradientPhases(const ConvShape& s)
      : count(dense(s) ? 1 : s.stride_h * s.stride_w),
        height(tiles(s.in_h, s.stride_h)),
        width(tiles(s.in_w, s.stride_w)),
        taps_y(tiles(s.kernel_h, s.stride_h)),
        taps_x(tiles(s.kernel_w, s.stride_w)) {}
};

// Floats that are multiplied as such; Hopper's tensor cores multiply their terms (kernels/math.cuh).
inline bool multiplies_plainly(const Chip& chip, Math math) {
  return math == Math::fp32 && !chip.warpgroups;
}

// Multiplications of a multiprocessor per clock, in fp32 and on chip.
inline double on_chip_rate(const Chip& chip) {
  return multiplies_plainly(chip, Math::fp32) ? 40 : 70;
}

// Large tiles reuse more of what they load; small ones use more of the chip. Its multiprocessors
// are busy enough with this many blocks: 60 on an H200 with 132.
int enough_blocks(const Chip& chip);
// Whether wide tiles are as many, and more than half full. Of 32 rows they would multiply three
// times as many zeros, each over the whole depth, while half of the chip is idle.
bool wide_tiles_fill(const Chip& chip, std::int64_t rows, std::int64_t columns);

struct ProductSize {
  std::int64_t rows, columns, depth;
  bool dense = false;
  int phases = 1;
  bool weights = false;  // the weight gradient
};

// Whether splits can be the blocks of a cluster. Five or seven leave too many multiprocessors idle.
bool clusters(int splits);
// Of blocks that run at once, `together` on each multiprocessor, in clusters of this size: clusters
// of more than two do not fill the groups of multiprocessors that they must stay within. 120 of 132
// were seen on an H200.
int clustered_at_once(const Chip& chip, int cluster, int together);

struct TileChoice {
  TileKind tile = TileKind::small;
  int splits = 1, split_depth = 1;
  bool clustered = false;  // the blocks of a cluster have the splits of a tile
  // What the splits are written to before they are added, if they are not clustered.
  struct Scratch {
    core::Bytes bytes = 0;
    int tickets = 0;
  };
  Scratch scratch(const ProductSize& size) const;
};
// For outputs and input gradients, whose splits the kernel adds itself.
TileChoice choose_tiles(const Chip& chip, const ProductSize& size, Math math);
// For weight gradients, whose splits the update adds.
TileChoice choose_weight_tiles(const Chip& chip, const ProductSize& size, Math math);
// On this chip.
double expected_clocks(const Chip& chip, const ProductSize& size, const TileChoice& choice,
                       Math math);

}  // namespace sweetspot::engine::cuda
