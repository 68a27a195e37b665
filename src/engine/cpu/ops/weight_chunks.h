#pragma once
#include <algorithm>
#include <cstdint>

#include "engine/cpu/ops/depth_split.h"
#include "engine/cpu/ops/tiles.h"

namespace sweetspot::engine::cpu {

// A weight gradient is computed and applied in chunks of 12 KiB, which stay in the L1 cache: rows
// of a panel of columns.
struct WeightChunks {
  static constexpr std::int64_t most_floats = 48 * panel;

  std::int64_t depth, columns;
  std::int64_t side_by_side;  // panels whose chunks of the same inputs come one after another
  bool pairs;                 // of chunks, of whole panels side by side

  // Calls visit(first column, first row, rows, panels) for a part's chunks, one at a time or two;
  // with `split` they are of the rows that the part has anyway.
  template <class Visit>
  void each(const DepthSplit* split, int part, int parts, Visit visit) const {
    // Not the last panel's width: deeper chunks would not fit where their inputs are packed.
    const std::int64_t most = most_floats / std::min(panel, columns);
    const std::int64_t panels = pieces(columns, panel);
    const auto can_pair = [&](std::int64_t p) { return pairs && (p + 2) * panel <= columns; };
    if (split) {
      const auto rows_of = [&](std::int64_t p) {
        return split->rows(split->leaves(p, part, parts));
      };
      const auto has_same = [&](std::int64_t p) {
        return rows_of(p).begin == rows_of(p + 1).begin && rows_of(p).end == rows_of(p + 1).end;
      };
      for (std::int64_t first = 0; first < panels; first += side_by_side)
        for (std::int64_t done = 0; done < depth; done += most) {
          const std::int64_t last = std::min(first + side_by_side, panels);
          for (std::int64_t p = first, together; p < last; p += together) {
            const Range mine = rows_of(p);
            const std::int64_t k = mine.begin + done;
            together = p + 2 <= last && can_pair(p) && has_same(p) ? 2 : 1;
            if (k < mine.end) visit(p * panel, k, std::min(most, mine.end - k), together);
          }
        }
      return;
    }
    const std::int64_t even = round_up(pieces(panels * depth, parts), whole_tiles);
    const std::int64_t step = std::min(most, even);
    const std::int64_t chunks = pieces(depth, step);
    const Range mine = share(panels * chunks, part, parts);
    for (std::int64_t chunk = mine.begin, together; chunk < mine.end; chunk += together) {
      const std::int64_t first = chunk / (side_by_side * chunks) * side_by_side;
      const std::int64_t beside = std::min(side_by_side, panels - first);
      const std::int64_t at = chunk - first * chunks, k = at / beside * step;
      const std::int64_t p = first + at % beside;
      together = chunk + 2 <= mine.end && at % beside + 2 <= beside && can_pair(p) ? 2 : 1;
      visit(p * panel, k, std::min(step, depth - k), together);
    }
  }

 private:
  static constexpr std::int64_t whole_tiles = 48;  // of the kernels
};

}  // namespace sweetspot::engine::cpu
