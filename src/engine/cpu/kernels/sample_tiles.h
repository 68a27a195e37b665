#pragma once
#include <cstdint>

#include "engine/cpu/kernels/kernels.h"

namespace sweetspot::engine::cpu {

// Convolutions whose tiles have one row per sample: 32 channels of one position, of up to 16
// samples side by side. A kernel's tap is then a tile as it is, and no patch is packed.
//
// A tensor between two of them is stored that way ("tiled"): the values of a block of 16 samples as
// (channel groups, positions, 16, 32) in bf16, with one position of zeros after the last; gradients
// and winners as (units, positions, 16, 16).

constexpr std::int64_t tile_samples = 16, tile_channels = 32;
constexpr std::int64_t tile_size = tile_samples * tile_channels;  // numbers
constexpr std::int64_t tile_floats = tile_samples * unit;         // of its sums

// Products at up to four positions with one unit of channels, or at up to two with two of them:
// Σ over steps and channel groups of A[step.a[i]] · B[step.b]. Two of each side are fewer loads
// than four and one.
struct TapStep {
  std::int32_t a[4], b;
};
struct TapGroup {
  std::int32_t first, steps;  // of its steps
  std::int32_t c[4];          // where its sums go, in floats; negative: nowhere
};
struct TapProduct {
  const Bf16 *a, *b;
  std::int64_t a_row, a_group, b_group, channel_groups;
  int across;           // units of channels: 1 or 2
  std::int64_t b_next;  // to the second one's weights, in numbers
  const TapStep* steps;
  const TapGroup* groups;
  std::int64_t group_count, samples;
  bool configures;   // the first of several products without anything else that uses tiles between
  bool by_channels;  // all groups of positions with one group of channels before the next
  float* c;
  std::int64_t c_row, c_next;  // floats from one sample, one unit to the next
};

// D (+)= Σ over steps of A · B, for one or two tiles of rows (16 channels of the input, or 16 taps)
// and one or two of columns, and for several kinds of steps, one after the other.
struct PairStep {
  std::int32_t a, b;
};
struct PairGroup {
  const PairStep* steps;
  std::int64_t count;
  float* d;
};
struct PairProduct {
  const Bf16 *a, *b;
  std::int64_t a_row;           // from one row of a left tile to the next, in numbers
  std::int64_t a_next, b_next;  // to the second tile
  const PairGroup* groups;
  std::int64_t group_count;
  int down, across;
  bool configures;
  bool begins;                 // with zeros, not with what D has
  std::int64_t d_row, d_next;  // floats from one row, from one tile of rows to the next
};

// Two places whose numbers form pairs; negative: zeros.
struct PlacePair {
  std::int32_t first, second;
};
struct PairPlaces {
  const Bf16* from;          // (channel groups, places, 16, 32)
  std::int64_t from_groups;  // numbers from one channel group to the next
  const PlacePair* pairs;
  std::int64_t count, samples;
  struct Part {
    std::int64_t begin, end;
  } pair_part, unit_part;  // those that are wanted
  Bf16* to;                // (units, count, 16, 32)
};

// One image per sample, in units of 16 channels.
struct UnitImages {
  const float* images;
  std::int64_t sample, unit, position;  // floats from one to the next
  std::int64_t positions, units, samples;
};
// The winners at these positions; `sample` in bytes.
struct WinnerImages {
  const std::uint8_t* winner;
  std::int64_t sample, slots;
};

// Patches of a first layer: `lines` runs of numbers of each sample's frame.
struct PatchPlaces {
  const Bf16* frames;
  std::int64_t frame_stride, line_stride;
  const std::int32_t* offsets;  // of each place
  std::int64_t places, lines, run, samples;
  Bf16* to;  // (places, rows, row)
  std::int64_t rows, row;
};

// What each tap of a first layer reads of one sample, for all outputs of some rows.
struct TapRows {
  const Bf16* from;
  const std::int32_t* offsets;  // of each tap
  std::int64_t taps, rows, row_stride, width;
  Bf16* to;                    // (taps, length), a row of outputs every `pitch`, then zeros
  std::int64_t pitch, length;  // multiples of 2 and 32
};
// The gradients of these outputs, one unit of channels, in pairs.
struct GradientRows {
  const float* gradients;      // (windows, 16)
  const std::uint8_t* winner;  // null: not pooled
  std::int64_t window;         // floats, and winners, from one window to the next
  std::int64_t rows, width, pool_height, pool_width;
  Bf16* to;            // (pairs, 16, 2), zeros after the last row
  std::int64_t pairs;  // of 16 × 2
  float* bias;         // null, or where the gradients of winners are added
};

struct PoolTiles {
  const float* sums;  // tiles of 16 × 16, one per slot of each window
  std::int64_t windows, slots, samples;
  const float* bias;  // null: none
  bool relu;
  float* out;  // (windows, 16)
  std::int64_t out_stride;
  std::uint8_t* winner;  // null if there is one slot
  std::int64_t winner_stride;
  // Instead of `out`, with tiled winners: a unit of (windows, 16, 32). It `clears` its group's
  // other one, if there is none.
  Bf16* tiles;
  bool clears;
};

// The products run on tiles.
struct SampleTileProducts {
  void (*taps)(const TapProduct&);
  void (*pairs)(const PairProduct&);
};

// Everything around them, on registers.
struct SampleTileKernels {
  // to (channel groups, positions, 16, 32).
  void (*side_by_side)(const UnitImages&, Bf16* to, std::int64_t group_stride);
  // The same for the gradients of pooled outputs: (channel groups, windows · slots, 16, 32), zero
  // except for the winners, whose sums are added to bias (units, 16).
  void (*winners_side_by_side)(const UnitImages&, const WinnerImages&, float* bias, Bf16* to,
                               std::int64_t group_stride);
  // The same for others: zero where `values`, in the same order as `to`, is not null and not
  // positive.
  void (*gradients_side_by_side)(const UnitImages&, const Bf16* values, float* bias, Bf16* to,
                                 std::int64_t group_stride);
  void (*patches)(const PatchPlaces&);
  void (*tap_rows)(const TapRows&);
  // With a bias if outputs are pooled by an even width.
  void (*gradient_rows)(const GradientRows&);
  // Rows are samples: (16 channels, 2) of both places.
  void (*pair_places)(const PairPlaces&);
  // Rows are channels: (16 samples, 2) of both places.
  void (*turn_places)(const PairPlaces&);
  void (*pool)(const PoolTiles&);
};

}  // namespace sweetspot::engine::cpu
