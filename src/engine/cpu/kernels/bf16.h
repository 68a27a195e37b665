#pragma once
#include <cstdint>

#include "engine/cpu/kernels/kernels.h"
#include "engine/cpu/kernels/sample_tiles.h"

namespace sweetspot::engine::cpu {

// The inner loops over bf16 operands, for CPUs that multiply and add pairs of them in one
// instruction: twice the arithmetic of fp32. Sums are fp32.

// Winners of a pooled convolution (see Winners), with rounded gradients, for one output channel or
// one position. Lists have space for 16 more entries than they hold.
struct WinnerList {
  std::int32_t* offsets;
  Bf16* gradients;
  std::int64_t count;

  // Winners are multiplied in pairs: an odd one is paired with a gradient of zero.
  std::int64_t pairs() {
    if (count % 2 != 0) offsets[count] = offsets[0], gradients[count] = Bf16{};
    return (count + 1) / 2;
  }
};
// For one unit of output channels, up to 16 windows.
struct WindowGradients {
  const float* gradients;      // (windows, unit), zero where no winner takes any
  const std::uint8_t* winner;  // (windows, unit)
  std::int64_t windows;
};
// A product whose rows are windows of four slots, with bias, pooled in registers: (windows, unit)
// for each unit of up to two. Its `c` and its strides are not used.
struct PooledPairs {
  Product<Bf16> product;
  float* out;
  std::uint8_t* winner;
  std::int64_t unit_stride;  // of both
};
// The gradients of one unit's winners, at any number of windows, times what they read.
struct PatchWeights {
  WindowGradients from;
  const Bf16* patches;               // what the positions of each window read: (windows, row)
  std::int64_t row;                  // 32 or 64
  const std::int32_t* slot_offsets;  // where each slot, of up to 16, begins in a patch
  const std::int32_t* tap_offsets;   // and each tap in it
  std::int64_t taps;
  float* to;  // adds to (taps, unit)
  std::int64_t to_stride;
};
// Inputs and weights of two units are stored side by side, 32 numbers in pair_units' order, so that
// one load gets both.
struct SparseWeights {
  std::int64_t kernel_height, kernel_width;
  std::int64_t line_stride;  // numbers from one row of the input to the next
  std::int64_t pairs;        // of winners of one output channel
  const std::int32_t* offsets;
  const Bf16* gradients;
  const Bf16* input;
  float *first, *second;  // adds to the weight gradients of both units, (taps, unit)
};
struct SparseData {
  std::int64_t kernel_width;
  // The winners at one position, and at the one to its right.
  struct Winners {
    std::int64_t pairs;
    const std::int32_t* offsets;
    const Bf16* gradients;
  } here, right;
  const Bf16* weights;    // of one kernel row: (channels, kernel width, 32)
  float *first, *second;  // adds to this row of the input gradients of both units
};

// Where a panel of weights is in bf16: pairs of rows of 16 columns, 32 numbers each.
struct PanelPairs {
  Bf16* to;
  std::int64_t width;                      // of the panel
  std::int64_t column_stride, row_stride;  // from 16 columns, from a pair of rows to the next
};

// A dense layer's output gradients, and what its products read of them.
struct OutputGradients {
  const float* gradients;  // (rows, columns)
  const float* values;     // null, or the outputs of a ReLU: where they are not positive, zeros
  std::int64_t rows, columns;
  std::int64_t begin, end;  // the columns that are wanted, multiples of unit
  float* sums;              // null, or where those of the columns are added, row by row
  Bf16* rounded;            // null, or (rows, columns), or what round_row_tiles makes
  bool row_tiles;
  Bf16* pairs;  // (⌈columns / panel⌉, ⌈rows / 2⌉, panel, 2), each panel as pair_rows makes it
};

struct Bf16Kernels {
  const char* name;
  bool tiles;  // both products run on tiles; all else is no faster than in fp32
  void (*multiply)(const Product<Bf16>&);
  void (*multiply_two)(const Product<Bf16>&, const SecondPanel&);  // without tiles, as outer_two
  void (*outer)(const OuterProduct<Bf16>&);
  void (*outer_two)(const OuterProduct<Bf16>&, const SecondPanel&);
  void (*multiply_pooled)(const PooledPairs&);

  // Any count.
  void (*round)(const float* from, std::int64_t count, Bf16* to);
  // to (count, 2) = both interleaved; count is a multiple of unit.
  void (*pair)(const float* first, const float* second, std::int64_t count, Bf16* to);
  // to ((rows + 1) / 2, columns, 2) = from (rows, columns), an odd last row paired with zeros.
  void (*pair_rows)(const float* from, std::int64_t from_stride, std::int64_t rows,
                    std::int64_t columns, Bf16* to, std::int64_t to_stride);
  // Kernels::adam on a panel of weights (rows, width), an even number of rows, and the new ones
  // rounded as pair_rows does.
  void (*adam_pairs)(const AdamStep&, std::int64_t rows, const float* gradient, float* weight,
                     float* mean, float* square, const Following&, const PanelPairs& to);
  // to (columns / 2, rows, 2) = from (rows, columns)ᵀ; both counts are multiples of unit.
  void (*transpose_pairs)(const float* from, std::int64_t from_stride, std::int64_t rows,
                          std::int64_t columns, Bf16* to, std::int64_t to_stride);
  // The same for 16 rows from (columns / 16, rows / 2, 16, 2), as pair_rows makes it; strides of
  // the first two.
  void (*turn_row_pairs)(const Bf16* from, std::int64_t column_stride, std::int64_t row_stride,
                         std::int64_t columns, Bf16* to, std::int64_t to_stride);
  // to (rows / 16, columns / 32, 16, 32): each tile contiguous; a last tile may lack rows.
  void (*round_row_tiles)(const float* from, std::int64_t rows, std::int64_t columns, Bf16* to);
  // One row of that: its numbers whose bits of `keep` are set, times `scale`.
  void (*round_kept)(const float* from, const std::uint16_t* keep, float scale,
                     std::int64_t columns, Bf16* to);
  // to (columns / 16, ⌈rows / 32⌉, 16, 32): columns as rows, in tiles, zeros after the last row;
  // columns are a multiple of unit.
  void (*turn_rows)(const float* from, std::int64_t from_stride, std::int64_t rows,
                    std::int64_t columns, Bf16* to);
  // The same for columns [first, first + count) of what round_row_tiles made.
  void (*turn_row_tiles)(const Bf16* from, std::int64_t rows, std::int64_t columns,
                         std::int64_t first, std::int64_t count, Bf16* to);
  void (*round_gradients)(const OutputGradients&);
  // to (positions, 32): two units side by side.
  void (*pair_units)(const float* first, const float* second, std::int64_t positions, Bf16* to);

  // As Kernels::winograd_…, with rounded points: 16 contiguous ones of an input; of weights every
  // other number, the `odd` ones after the even ones, which must already be there.
  void (*winograd_weights)(std::int64_t r, const float* taps, std::int64_t tap_stride, bool odd,
                           Bf16* points, std::int64_t point_stride);
  void (*winograd_input)(std::int64_t r, const float* plane, std::int64_t line_stride, Bf16* points,
                         std::int64_t point_stride);

  // Append the winners of each of 16 channels, with the offsets of their windows (16) plus those of
  // the slot in the window (16), to lists[channel].
  void (*winners_of_channels)(const WindowGradients&, const std::int32_t* offsets,
                              const std::int32_t* slot_offsets, WinnerList* lists);
  // Append the winners at each position, with the offsets of their channels, to
  // lists[window][slot].
  void (*winners_of_positions)(const WindowGradients&, std::int64_t slots,
                               std::int32_t first_offset, std::int32_t channel_offset,
                               WinnerList* lists);
  // to (windows, slots / 2, unit, 2): the gradients of all slots, zero except the winners'; slots
  // is even.
  void (*winners_in_pairs)(const WindowGradients&, std::int64_t slots, Bf16* to);
  // For windows of up to 16 slots: instead of multiplying what all slots read with such zeros.
  void (*patch_weights)(const PatchWeights&);
  // For kernels up to 5 wide.
  void (*sparse_weights)(const SparseWeights&);
  void (*sparse_data)(const SparseData&);

  SampleTileKernels side_by_side;
  SampleTileProducts sample_tiles;  // null without tiles
};

extern const Bf16Kernels kernels_avx512bf16;

// The products on tiles; null if this program was compiled without.
struct TileProducts {
  void (*multiply)(const Product<Bf16>&);
  void (*outer)(const OuterProduct<Bf16>&);
  SampleTileProducts sample_tiles;
};
extern const TileProducts products_amx;
// Everything else is as with AVX512-BF16, which every CPU with AMX has.
Bf16Kernels kernels_on_tiles(const char* name, const TileProducts& products);

}  // namespace sweetspot::engine::cpu
