#pragma once
#include <cstdint>

#include "engine/cpu/kernels/kernels.h"

namespace sweetspot::engine::cpu {

// Convolutions whose tiles have one row per sample: 32 channels of one position, of up to 16
// samples side by side. A kernel's tap is then a tile as it is, and no patch is packed.
//
// A tensor between two of them is stored that way ("tiled"): the values of a block of 16 samples as
// (channel groups, positions, 16, 32) in bf16; gradients
// and winners as (units, positions, 16, 16).

constexpr std::int64_t tile_samples = 16, tile_channels = 32;
constexpr std::int64_t tile_size = tile_samples * tile_channels;  // numbers
constexpr std::int64_t tile_floats = tile_samples * unit;         // of its sums

// Products at up to four neighbouring positions of a row with one unit of channels. Position i
// multiplies column j of a line of tiles with tap j - i of the line's: each tile of both sides is
// loaded once, and weights move on from position to position. Most lines are of one row of a
// kernel.
struct TapLine {
  std::int32_t columns;  // its first one's place in the list of them
  std::int32_t b;        // its first tap
  std::int32_t taps;
  std::int32_t begin, end;  // the columns that are no padding
};
struct TapGroup {
  std::int32_t first, lines;  // of its lines
  std::int32_t c[4];          // where its sums go, in floats; negative: nowhere
};
struct TapProduct {
  const Bf16 *a, *b;
  std::int64_t a_group, b_group, channel_groups;
  std::int64_t b_step;          // from one tap to the next, in numbers
  const std::int32_t* columns;  // where each one's tile is
  const TapLine* lines;
  const TapGroup* groups;
  std::int64_t group_count, samples;
  bool configures;  // the first of several products without anything else that uses tiles between
  float* c;
  std::int64_t c_row;  // floats from one sample to the next
  Ahead ahead;
};

// Weight gradients of up to two by two taps, which read the same places for neighbouring outputs:
// D[i][j] (+)= Σ over the lines' pairs of outputs of A[places[line.places + pair + j]] ·
// B[line.b[i] + pair]. Rows are 16 channels of the input.
struct PairLine {
  std::int32_t places;
  std::int32_t b[2];  // negative: no outputs
};
struct PairLines {
  const Bf16 *a, *b;
  const std::int32_t* places;  // negative: padding
  const PairLine* lines;
  std::int64_t line_count, pairs;
  int down, across;  // taps
  bool configures;
  bool begins;  // with zeros, not with what D has
  float* d;
  float* total;  // null, or where the sums are added, in the order of D, which is left as it is
  std::int64_t d_row, d_down, d_across;  // floats from one row, from one tap to the next
};

// D (+)= Σ over steps of A · B, for one or two tiles of rows (16 taps of a first layer) and one or
// two of columns.
struct PairStep {
  std::int32_t a, b;
};
struct PairProduct {
  const Bf16 *a, *b;
  std::int64_t a_next, b_next;  // to the second tile
  const PairStep* steps;
  std::int64_t step_count;
  float* d;
  int down, across;
  bool configures;
  bool begins;                 // with zeros, not with what D has
  bool continues;              // with what the call before has left in the tiles
  bool leaves;                 // the sums there
  std::int64_t d_row, d_next;  // floats from one row, from one tile of rows to the next; with one
                               // tile of rows, every other step's sums are there instead
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
  // Null, or for windows of 2×2 what pair_places() would make of the pairs of outputs, `across`
  // in a row.
  Bf16* pairs;
  std::int64_t pairs_unit, across;
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

// Frames of a first layer, number by number: what two neighbouring outputs read there, of all
// samples.
struct TurnedFrames {
  const Bf16* frames;
  std::int64_t frame_stride;
  std::int64_t apart;  // from what an output reads to what the next one reads
  std::int64_t samples, count;
  Bf16* to;  // (numbers, 16, 2), whole groups of 16
};
// What the taps read for all outputs of a row: those of a pair of outputs follow one another, the
// lines of the kernel first.
struct TapLines {
  const Bf16* from;  // turned frames
  std::int64_t line_stride, lines, numbers;
  Bf16* to;  // (numbers, lines, 16, 2)
};
// The gradients of a row of windows, one unit of channels, in pairs of neighbouring outputs.
struct GradientTiles {
  const float* gradients;      // (windows, samples, 16)
  const std::uint8_t* winner;  // null: not pooled
  std::int64_t window;         // floats, and winners, from one window to the next
  std::int64_t sample, winner_sample;
  std::int64_t samples, pool_height, pool_width, width;
  std::int64_t first, pairs;  // whole windows, if they are pooled by an even width
  Bf16* to;                   // (pairs, lines of a window, 16, 32)
  float* bias;                // null, or where the gradients of winners are added
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

  // Windows are pooled in pieces of a few samples; the last pieces of a window may have none.
  static constexpr std::int64_t piece_samples = 4, pieces_of_window = tile_samples / piece_samples;
  std::int64_t pieces() const { return windows * pieces_of_window; }
};

// A row of windows of a first layer, all units. A group is two patches with the weights of two
// outputs: c[2 i + j] = Σ over tiles of their rows of A[a[i]] · B[b[j]].
struct PatchGroup {
  std::int32_t a[2], b[2];
  std::int32_t c[4];  // where its sums go, in floats; negative: nowhere
};
// Windows whose sums stay in the L1 cache until they are pooled.
struct PatchChunk {
  std::int64_t first_window, windows;
  std::int64_t first_group, groups;
};
struct PatchRow {
  const Bf16 *a, *b;
  std::int64_t a_row, tiles;
  std::int64_t b_unit, units;  // numbers from one unit to the next
  const PatchGroup* groups;
  const PatchChunk* chunks;
  std::int64_t chunk_count;
  bool configures;
  float* sums;  // of two chunks
  std::int64_t chunk_floats;
  // The first unit's, from the row's first window on, and what is from one unit to the next: of
  // out and winners, and of the groups of a tiled output.
  PoolTiles pool;
  std::int64_t out_unit, tiles_group;
  Ahead ahead;
};

// The products run on tiles.
struct SampleTileProducts {
  void (*taps)(const TapProduct&);
  void (*patches)(const PatchRow&);
  void (*pair_lines)(const PairLines&);
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
  void (*turn_frames)(const TurnedFrames&);
  void (*tap_lines)(const TapLines&);
  // With a bias if outputs are pooled by an even width.
  void (*gradient_tiles)(const GradientTiles&);
  // Rows are samples: (16 channels, 2) of both places.
  void (*pair_places)(const PairPlaces&);
  // Rows are channels: (16 samples, 2) of both places.
  void (*turn_places)(const PairPlaces&);
  void (*pool)(const PoolTiles&);
};

}  // namespace sweetspot::engine::cpu
