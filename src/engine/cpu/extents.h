#pragma once
#include <vector>

#include "engine/cpu/ops/conv.h"
#include "engine/cpu/tensor.h"
#include "model/network.h"

namespace sweetspot::engine::cpu {

// Positions that something reads: extents[i] is what is computed of layer i's input, extents[n] of
// the output. Pooling that rounds down never reads the last lines and columns of a convolution, and
// so neither do the convolutions before it: for paper-cnn that is a fifth of the arithmetic.
std::vector<Extent> live_extents(const model::Network& network);

// Everything about convolution `layer` but the place of its weights.
ConvGeometry conv_geometry(const model::Network& network, const std::vector<Extent>& extents,
                           std::size_t layer);

// Whether convolution `layer` is the last step of a transposed one that runs as such, with the
// zeros between positions before it: where each output meets a tap of the kernel.
bool runs_transposed(const model::Network& network, std::size_t layer);
// Everything about the convolution whose gradient it is.
ConvGeometry transposed_geometry(const model::Network& network, const std::vector<Extent>& extents,
                                 std::size_t layer);

// The same of a depthwise one.
DepthwisePlane depthwise_plane(const model::Network& network, const std::vector<Extent>& extents,
                               std::size_t layer);

}  // namespace sweetspot::engine::cpu
