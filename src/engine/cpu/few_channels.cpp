#include "engine/cpu/few_channels.h"

namespace sweetspot::engine::cpu {

bool runs_from_few(const ConvGeometry& g) {
  // With more, minimal filtering is faster, or a direct product in bf16.
  const std::int64_t most_channels = g.taps() <= 9 ? 4 : 6;
  // All inputs are multiplied with all taps, whether an output reads them or not.
  const bool overlaps = g.in.positions() <= 2 * g.out.positions();
  return !g.compact && g.out.channels <= most_channels && g.taps() > 1 &&
         g.strides == model::Window{1, 1} && overlaps;
}

ConvGeometry from_few(const ConvGeometry& g) {
  ConvGeometry turned;
  turned.kernel = g.kernel, turned.strides = g.strides;
  turned.pad_top = g.kernel.height - 1 - g.pad_top;
  turned.pad_left = g.kernel.width - 1 - g.pad_left;
  turned.compact = true;
  turned.in = g.out, turned.out = g.in;
  return turned;
}

}  // namespace sweetspot::engine::cpu
