#pragma once
#include "engine/cuda/kernels/params.h"

namespace sweetspot::engine::cuda {

// Floats as planes of 16 bits, `term` elements apart, each the rounded remainder of the previous
// ones: bf16, or fp16 if there is only one term. Rows of `width` floats become rows of `packed`
// operands, padded with zeros.
struct Packing {
  const float* from;
  std::uint16_t* to;
  std::int64_t rows, term;
  int width, packed;  // a multiple of four, of eight
  Divider by_packed;  // eighths of a row
};
struct Packings {
  Packing input, kernel;  // either may have no rows
  int terms;
  bool fp16;
};
cudaError_t launch_packing(const Packings& p, cudaStream_t stream);

// The same for a gradient, routed back through dropout, ReLU and pooling to the product's output;
// its column sums are the bias's partial gradients, one per slice of rows.
struct GradientPacking {
  const float* gradient;     // (rows, filters)
  const std::uint8_t* code;  // or null: all of it passes
  std::uint16_t* to;         // or null: nothing is packed
  float* floats;             // without pooling: the same as floats, or null
  std::int64_t term;
  int terms;
  bool fp16;
  int rows, filters, pool, out_h, out_w;  // rows after pooling; out: before it
  Divider by_windows, by_window_w;
  float* sums;  // (slices, filters), or null
  int slices;
};
cudaError_t launch_gradient_packing(const GradientPacking& p, cudaStream_t stream);

// ReLU and dropout of a product's output in place, with the codes that route its gradient.
struct Finishing {
  float* value;        // (rows, filters)
  std::uint8_t* code;  // or null
  std::int64_t rows;
  int filters;  // a multiple of four
  bool relu;
  bool few;  // fours of values: fewer than 2^31
  Divider by_quads, by_positions, by_width;
  DropoutMask dropout;
};
cudaError_t launch_finishing(const Finishing& f, cudaStream_t stream);

// The columns of an input gradient, summed by tiles of rows; their sums, in few slices.
struct TileSums {
  const float* sums;  // (tiles, channels)
  float* to;          // (tile_sum_slices, channels)
  int tiles, channels;
};
constexpr int tile_sum_slices = 32;
cudaError_t launch_tile_sums(const TileSums& t, cudaStream_t stream);

constexpr int packed_rows = 128;
// Products of packed operands, in tiles of 128 rows and `columns` (32, 64, 96 or 128); only if the
// chip has warpgroup products.
cudaError_t launch_packed_fp32(const GemmPart& part, int columns, cudaStream_t stream);
cudaError_t launch_packed_tf32(const GemmPart& part, int columns, cudaStream_t stream);
cudaError_t launch_packed_bf16(const GemmPart& part, int columns, cudaStream_t stream);
cudaError_t launch_packed_fp16(const GemmPart& part, int columns, cudaStream_t stream);

}  // namespace sweetspot::engine::cuda
