#pragma once
#include <vector>

#include "engine/cpu/op.h"
#include "engine/extents.h"

namespace sweetspot::engine::cpu {

// Which tiles a convolution multiplies when its rows are samples (kernels/sample_tiles.h). Places
// are input positions, row by row; outputs are window by window, as pooling reads them.
struct TapTables {
  struct Products {
    std::vector<std::int32_t> columns;
    std::vector<TapLine> lines;
    std::vector<TapGroup> groups;
    std::int64_t step = 0;  // from one tap to the next, in numbers
  };
  // Windows that follow one another, whose sums stay in cache until they are pooled.
  struct Chunk {
    std::int64_t first_window, windows, first_group, groups;
  };
  Products forward;  // groups of outputs
  std::vector<Chunk> chunks;
  std::int64_t most_sums = 0;  // tiles of a chunk
  Products input_gradient;     // groups of places
  // For the weight gradient: pairs of neighbouring outputs, row by row; pairs of places that such a
  // pair reads; and what is multiplied for up to two by two taps.
  struct Taps {
    std::int64_t first;
    int down, across;
    std::int64_t first_line, lines;
  };
  std::vector<PlacePair> output_pairs, place_pairs;
  std::vector<Taps> taps;
  std::vector<PairLine> pair_lines;
  std::vector<std::int32_t> pair_places;
  std::int64_t pairs_of_row = 0;
};

// `place_floats`: from the gradient of one place to that of the next.
TapTables tap_tables(const ConvGeometry& geometry, std::int64_t place_floats);

}  // namespace sweetspot::engine::cpu
