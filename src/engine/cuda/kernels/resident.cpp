#include "engine/cuda/kernels/launch.h"

namespace sweetspot::engine::cuda {

bool resident_supports(const ConvShape& s) {
  return s.channels % 32 == 0 && (s.filters == 32 || s.filters == 64) && s.pad_top == 0 &&
         s.pad_left == 0 && s.stride_h == 1 && s.stride_w == 1 && s.taps() > 1;
}

std::int64_t resident_shared_bytes(GemmKind kind, const ConvShape& s, int samples, int element,
                                   int parts) {
  constexpr std::int64_t scratch = 16 * 4096;                   // the sums of sixteen warps
  const std::int64_t along = element == 4 ? 4 : 8, across = 8;  // pads
  const std::int64_t inputs = s.in_h * s.in_w, positions = s.positions();
  const std::int64_t depth = (positions + 15) / 16 * 16;
  // Sums are shared only where tiles are few, and then samples are too.
  const auto shared_sums = [&](std::int64_t groups, std::int64_t columns) {
    return 2 * samples * (groups / parts) * columns <= 16 ? scratch : 0;
  };
  switch (kind) {
    case GemmKind::forward:
      return element *
                 (s.depth() * (s.filters + across) + samples * inputs * (s.channels + along)) +
             shared_sums((s.windows() * s.pool * s.pool + 31) / 32, s.filters / 32);
    case GemmKind::data:
      return element * (s.depth() + samples * positions + 1) * (s.filters + along) +
             shared_sums((inputs + 31) / 32, s.channels / 32);
    case GemmKind::weights:
      return 4 * depth +
             element * samples * (inputs * (s.channels + across) + depth * (s.filters + across)) +
             8192;
  }
  return 0;
}

}  // namespace sweetspot::engine::cuda
