#pragma once
#include <memory>
#include <optional>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// A convolution whose extents are cut down to the positions that something reads.
struct ConvGeometry {
  model::Window kernel, strides;
  std::int64_t pad_top = 0, pad_left = 0;
  bool relu = false;
  bool raw_input = false;    // reads the batch itself: the first layer
  bool bf16 = false;         // products of rounded operands, where they pay
  bool tiles = false;        // which run on tiles
  bool compact = false;      // few input channels, read side by side instead of in units
  model::Shape input;        // full shape, for a raw input
  Extent in;                 // what is read of it
  Extent out;                // before pooling
  model::Window pool{1, 1};  // fused max pooling without overlap; 1×1: none
  std::size_t weights = 0;   // offsets into the weight buffer, in floats
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
// Samples of a convolution that are worked on together, and where their tensors lie.
struct ConvImages {
  const Pass& pass;
  const Room &from, &to;
  Range samples;
  int thread;
};
// What a product adds to its outputs and does with them.
struct Finish {
  const float* bias = nullptr;  // null: none
  bool relu = false;
};

// Stops gradients at the ReLU, if `value` is its output and not null, and adds what is left of them
// to bias (out.units(), 16).
void add_bias_gradient(const Pass& pass, const Extent& out, const float* value, float* gradient,
                       float* bias);

// Keras' (height, width, in) row of the kernel → row of the weight matrix.
std::vector<std::int32_t> conv_rows(const ConvGeometry& geometry);

// Any convolution.
std::unique_ptr<Op> make_conv(std::string name, const ConvGeometry& geometry,
                              std::int64_t micro_batch, Tensor* in, Tensor* out);
// A transposed convolution: `geometry` is that of the convolution whose gradient it is, from the
// output to the input, and its weights' are the same. `bias` and `relu` are of the output.
std::unique_ptr<Op> make_transposed_conv(std::string name, const ConvGeometry& geometry,
                                         std::optional<std::size_t> bias, bool relu,
                                         std::int64_t micro_batch, Tensor* in, Tensor* out);
// Convolution, ReLU or nothing, and max pooling in one pass, with backward passes over winners
// only.
std::unique_ptr<Op> make_conv_pool(std::string name, const ConvGeometry& geometry,
                                   std::int64_t micro_batch, Tensor* in, Tensor* out);

}  // namespace sweetspot::engine::cpu
