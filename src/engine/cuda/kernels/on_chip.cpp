#include <algorithm>

#include "engine/cuda/kernels/launch.h"

namespace sweetspot::engine::cuda {

bool on_chip_supports(const ConvShape& s) {
  return s.channels % 32 == 0 && (s.filters == 32 || s.filters == 64) && s.pad_top == 0 &&
         s.pad_left == 0 && s.stride_h == 1 && s.stride_w == 1 && s.taps() > 1;
}

namespace {
constexpr std::int64_t scratch = on_chip_warps * 4096;  // the sums of all warps
}

std::int64_t on_chip_shared_bytes(GemmKind kind, const ConvShape& s, int samples, int element,
                                  int parts) {
  const std::int64_t along = element == 4 ? 4 : 8, across = 8;  // pads
  const std::int64_t inputs = s.in_h * s.in_w, positions = s.positions();
  const std::int64_t depth = (positions + 15) / 16 * 16;
  // Sums are shared only if tiles are few, and then samples are too.
  const auto shared_sums = [&](std::int64_t groups, std::int64_t columns) {
    return 2 * samples * (groups / parts) * columns <= 16 ? scratch : 0;
  };
  switch (kind) {
    case GemmKind::forward:
      return element *
                 (s.depth() * (s.filters + across) + samples * inputs * (s.channels + along)) +
             samples * s.windows() * s.filters +  // dropout mask
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

bool merges(const ConvShape& first, const ConvShape& s, const Chip& chip) {
  const int tiles = (s.in_h * s.in_w + 31) / 32 * (s.channels / 32);
  const int sharing = on_chip_sharing(tiles, s.taps());
  // All tiles at once, followed by a synchronisation: what they read may be overwritten.
  return on_chip_supports(s) && first.channels == 1 && first.filters == s.channels &&
         on_chip_threads % s.channels == 0 && sharing > 1 && tiles * sharing <= on_chip_warps &&
         merged_shared_bytes(first, s, sizeof(float)) <= chip.shared_bytes;
}

std::int64_t merged_shared_bytes(const ConvShape& first, const ConvShape& s, int element) {
  const std::int64_t pitch = s.filters + (element == 4 ? 4 : 8);
  const std::int64_t gradients = std::max<std::int64_t>(element * (s.positions() + 1) * pitch,
                                                        std::int64_t{s.in_floats()} * 4);
  return element * s.depth() * pitch + (gradients + 15) / 16 * 16 + scratch +
         (std::int64_t{first.in_floats()} * 4 + 15) / 16 * 16 + first.out_floats();
}

}  // namespace sweetspot::engine::cuda
