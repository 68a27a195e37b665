#pragma once
#include <optional>
#include <vector>

#include "engine/layers.h"
#include "model/network.h"

namespace sweetspot::engine {

// One sample of a tensor is stored as (units, height, width, 16): channels in units of 16, the last
// one padded with zeros. A vector is an image of one position; a flattened image keeps its image
// layout, and the weights after it are permuted instead.
struct Extent {
  std::int64_t height = 1, width = 1, channels = 1;

  std::int64_t units() const { return round_up(channels, unit) / unit; }
  std::int64_t positions() const { return height * width; }
  std::int64_t plane() const { return positions() * unit; }  // floats per unit
  std::int64_t floats() const { return units() * plane(); }
  bool operator==(const Extent&) const = default;
};

// A convolution whose extents are reduced to the positions that are read.
struct ConvGeometry {
  model::Window kernel, strides;
  std::int64_t pad_top = 0, pad_left = 0;
  bool relu = false;
  bool raw_input = false;      // reads the batch itself: the first layer
  bool bf16 = false;           // products of rounded operands, where they pay
  bool tiles = false;          // and these run on AMX tiles
  bool compact = false;        // few input channels, stored contiguously instead of in units
  bool spread = false;         // the input has zeros between its positions: some sums are exactly 0
  model::Shape input;          // full shape, for a raw input
  float scale = 1, shift = 0;  // of a raw input, in front of the padding
  Extent in;                   // the part of it that is read
  Extent out;                  // before pooling
  model::Window pool{1, 1};    // fused max pooling without overlap; 1×1: none
  std::size_t weights = 0;     // offsets into the weight buffer, in floats
  std::optional<std::size_t> bias;

  std::int64_t slots() const { return pool.height * pool.width; }
  std::int64_t taps() const { return kernel.height * kernel.width; }
  // Rows of the weight matrix: (in units, taps, 16), or (taps, channels) padded to a unit if
  // compact.
  std::int64_t depth() const {
    return compact ? round_up(taps() * in.channels, unit) : in.units() * taps() * unit;
  }
  std::int64_t columns() const { return out.units() * unit; }
};

// The same network with its samples as vectors, if it begins with Flatten, or with Rescaling and
// then Flatten: a vector's elements are contiguous, an image's channels are padded.
model::Network flattened_first(model::Network network);

// The positions that are read: extents[i] is what is computed of layer i's input, extents[n] of the
// output. Pooling that rounds down never reads the last rows and columns of a convolution, and so
// neither do the convolutions before it: for paper-cnn that is a fifth of the arithmetic.
std::vector<Extent> live_extents(const model::Network& network);

// Everything about convolution `layer` except the offset of its weights.
ConvGeometry conv_geometry(const model::Network& network, const std::vector<Extent>& extents,
                           std::size_t layer);

// Whether convolution `layer` is the last step of a transposed one that runs as such, preceded by
// the zeros between positions: true if each output meets a tap of the kernel.
bool runs_transposed(const model::Network& network, std::size_t layer);
// The convolution whose gradient it is.
ConvGeometry transposed_geometry(const model::Network& network, const std::vector<Extent>& extents,
                                 std::size_t layer);

// The same for a depthwise one.
DepthwisePlane depthwise_plane(const model::Network& network, const std::vector<Extent>& extents,
                               std::size_t layer);

}  // namespace sweetspot::engine
