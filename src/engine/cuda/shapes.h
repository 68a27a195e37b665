#pragma once
#include <vector>

#include "engine/cuda/kernels/params.h"
#include "engine/extents.h"
#include "model/network.h"

namespace sweetspot::engine::cuda {

// The shape of a convolution without its pooling, channels and filters padded to multiples of four;
// a dense layer's if its kernel is as large as its input.
ConvShape conv_shape(const model::Network& network, const std::vector<Extent>& extents,
                     std::size_t layer);

// A dense layer: a convolution of 1×1 positions.
ConvShape dense_shape(const Extent& in, std::int64_t units);

// Whether `layer` is a 2×2 max pooling that reads all live positions of its input.
bool pooled_by_two(const model::Network& network, const std::vector<Extent>& extents,
                   std::size_t layer);

}  // namespace sweetspot::engine::cuda
