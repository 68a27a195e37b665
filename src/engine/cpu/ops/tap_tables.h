#pragma once
#include <vector>

#include "engine/cpu/op.h"
#include "engine/extents.h"

namespace sweetspot::engine::cpu {

// Which tiles a convolution multiplies when its rows are samples (kernels/sample_tiles.h). Places
// are input positions, row by row, and one of zeros after them; outputs, as y · out.width + x, are
// in the order of `outputs`, with one of zeros after them.
struct TapTables {
  struct Products {
    std::vector<TapStep> steps;
    std::vector<TapGroup> groups;
    std::int32_t most_steps = 0;  // of a group
  };
  // For one unit of channels in groups of four positions, for two in groups of two.
  struct ByUnits {
    const Products& of(int units) const { return units == 2 ? pairs : fours; }
    Products fours, pairs;
  };
  ByUnits forward;         // groups of outputs, in their order
  ByUnits input_gradient;  // groups of neighbouring places
  // For the weight gradient: pairs of neighbouring outputs, of places that such a pair reads, and
  // what is multiplied for each tap.
  std::vector<PlacePair> output_pairs, place_pairs;
  std::vector<std::vector<PairStep>> pair_steps;
  std::vector<std::int64_t> tap_order;  // those that read the same pairs of places together
};

// `sums_of`: forward sums go to as many tiles in turn. `place_floats`: from the gradient of one
// place to that of the next.
TapTables tap_tables(const ConvGeometry& geometry, const std::vector<std::int32_t>& outputs,
                     std::int64_t sums_of, std::int64_t place_floats);

}  // namespace sweetspot::engine::cpu
