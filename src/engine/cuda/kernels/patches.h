#pragma once
#include "engine/cuda/kernels/launch.h"

namespace sweetspot::engine::cuda {

// How the kernels for few channels divide a convolution's positions: into patches of whole lines,
// or of part of a line, whose pixels are in shared memory with a border of zeros. An operand is
// then one load, at the place of its position plus that of its tap.
struct Patches {
  int height, width, lines_apart;  // of a patch, and the pixels between its lines' corners
  int across, each;                // patches of a line, and of a sample
  int pixels_h, pixels_w;
  Divider by_width, by_across, by_each, by_pixels_w;
  int bytes(int channels) const {
    return pixels_h * pixels_w * channels * static_cast<int>(sizeof(float));
  }
};
// What a patch reads may have been spread, with zeros that are not stored between its positions.
struct Spread {
  int height = 1, width = 1;
};
// The largest that fit into `most_bytes`, but as many as `wanted` in `count` samples where lines
// can be divided so; false: none fit.
bool divide_patches(Patches& patches, const ConvShape& shape, int channels, int count, int wanted,
                    int most_bytes, const Spread& spread = {});
// Where input and output change places: without strides, the gradients of a convolution with few
// filters are a convolution over few channels, its kernel turned by half a turn.
ConvShape swapped(const ConvShape& shape);

}  // namespace sweetspot::engine::cuda
