#pragma once
#include <algorithm>

#include "engine/cpu/op.h"

namespace sweetspot::engine::cpu {

// Adds floats [begin, begin + count) of an operation's slots, in order, into `gradients`: this
// part's share of whole units. `first` is the operation's position in slot 0, which is overwritten.
inline void gather_slots(const Pass& pass, float* first, std::int64_t begin, std::int64_t count,
                         float* gradients, int part, int parts) {
  constexpr std::int64_t in_cache = 2048;  // floats of a sum that stay in the L1 cache
  const Range mine = share(count / unit, part, parts);
  for (std::int64_t done = mine.begin * unit; done < mine.end * unit; done += in_cache) {
    const std::int64_t floats = std::min(in_cache, mine.end * unit - done);
    float* sum = first + begin + done;
    for (std::int64_t s = 1; s < pass.unsummed_slots(); ++s)
      pass.kernels->add(sum + s * pass.slot_floats, floats, sum);
    std::copy_n(sum, floats, gradients + done);
  }
}

// The same for a convolution's weights, stored in its slots as they are, and its bias after them.
inline void gather_conv(const Pass& pass, const ConvGeometry& g, float* first, int part,
                        int parts) {
  const std::int64_t bias = g.columns() * g.depth();
  gather_slots(pass, first, 0, bias, pass.gradients + g.weights, part, parts);
  if (g.bias) gather_slots(pass, first, bias, g.columns(), pass.gradients + *g.bias, part, parts);
}

}  // namespace sweetspot::engine::cpu
