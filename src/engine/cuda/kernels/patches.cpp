#include "engine/cuda/kernels/patches.h"

#include <algorithm>

namespace sweetspot::engine::cuda {

bool divide_patches(Patches& p, const ConvShape& s, int channels, int count, int wanted,
                    int most_bytes, const Spread& spread) {
  constexpr int least_width = 32, most_positions = 4096;
  const auto lines = [&](int n) {
    return ((n - 1) * s.stride_h + s.kernel_h + spread.height - 1) / spread.height;
  };
  const auto line = [&](int n) {
    return ((n - 1) * s.stride_w + s.kernel_w + spread.width - 1) / spread.width;
  };
  const auto fits = [&](int high, int wide) {
    return std::int64_t{lines(high)} * line(wide) * channels * static_cast<int>(sizeof(float)) <=
           most_bytes;
  };
  p.height = 1, p.width = s.out_w;
  while (p.width > least_width && !fits(1, p.width)) p.width = (p.width + 1) / 2;
  if (!fits(1, p.width)) return false;
  if (p.width == s.out_w) {
    const auto most = static_cast<int>(
        std::clamp<std::int64_t>((std::int64_t{count} * s.out_h + wanted - 1) / wanted, 1,
                                 std::clamp(most_positions / s.out_w, 1, s.out_h)));
    while (p.height < most && fits(p.height + 1, s.out_w)) ++p.height;
    const int parts = (s.out_h + p.height - 1) / p.height;
    p.height = (s.out_h + parts - 1) / parts;
  }
  p.pixels_h = lines(p.height);
  p.pixels_w = line(p.width);
  p.lines_apart = s.stride_h * p.pixels_w - p.width * s.stride_w;
  p.across = (s.out_w + p.width - 1) / p.width;
  p.each = (s.out_h + p.height - 1) / p.height * p.across;
  const auto by = [](int n) { return Divider(static_cast<std::uint32_t>(n)); };
  p.by_width = by(p.width), p.by_across = by(p.across), p.by_each = by(p.each);
  p.by_pixels_w = by(p.pixels_w);
  return true;
}

ConvShape swapped(const ConvShape& s) {
  ConvShape to = s;
  to.in_h = s.out_h, to.in_w = s.out_w, to.channels = s.filters;
  to.out_h = s.in_h, to.out_w = s.in_w, to.filters = s.channels;
  to.pad_top = s.kernel_h - 1 - s.pad_top, to.pad_left = s.kernel_w - 1 - s.pad_left;
  return to;
}

}  // namespace sweetspot::engine::cuda
