#pragma once
#include "engine/cuda/kernels/packing.h"
#include "engine/cuda/ops/tiles.h"

// Tiles of products whose operands are packed in memory (kernels/packed_product.cuh and
// tma_product.cuh).
namespace sweetspot::engine::cuda {

struct PackedSize : ProductSize {
  // What the tensor memory accelerator copies: rows, and the depth of each of so many taps; none if
  // it cannot.
  std::int64_t copied_rows = 0, taps = 0, tap_depth = 0;
};
struct PackedTiles {
  bool tma = false;  // the tensor memory accelerator copies them; split_depth counts stages
  int columns = 128, splits = 1, split_depth = 1, stage_depth = 0;
  double clocks = 0;  // expected cost
  int tiles_m(const PackedSize& size) const {
    return tiles(tma ? size.copied_rows : size.rows, packed_rows);
  }
};
PackedTiles choose_packed_tiles(const Chip& chip, const PackedSize& size, Math math);

// Sixteen bytes are eight operands of one tap: channels are padded to multiples of eight.
ConvShape packed_shape(ConvShape shape);
struct PackedSizes {
  PackedSize forward, data, weights;
  PackedSizes(const ConvShape& shape, std::int64_t count, Math math);
};

// Whether a product is faster with packed operands, including the packing: predicted from its size
// and the chip, so that the memory of a plan is known without running it.
struct PackingCase {
  ConvShape shape;
  std::int64_t count;
  bool training, wants_input_gradient;
  Math math;
  bool few_channels;     // the forward pass has its own kernel, packed or not
  bool on_chip = false;  // unpacked, whole samples would be in shared memory
  // What its producer, the update, or the operation behind it packs already.
  bool input_packed = false, kernel_packed = false, gradient_packed = false;
};
bool packing_pays(const Chip& chip, const PackingCase& c);

}  // namespace sweetspot::engine::cuda
