#include "engine/cpu/ops/patches.h"

#include <algorithm>

namespace sweetspot::engine::cpu {

template <class Visit>
void Patches::each_tap(std::int64_t position, Visit visit) const {
  const std::int64_t top = position / g_.out.width * g_.strides.height - g_.pad_top,
                     left = position % g_.out.width * g_.strides.width - g_.pad_left;
  std::int64_t patch = 0;
  for (std::int64_t y = top; y < top + g_.kernel.height; ++y)
    for (std::int64_t x = left; x < left + g_.kernel.width; ++x, patch += unit) {
      const bool inside = y >= 0 && y < g_.in.height && x >= 0 && x < g_.in.width;
      visit(inside ? (y * g_.in.width + x) * unit : -1, patch);
    }
}

void Patches::fill(const float* image, float* patches) const {
  const std::int64_t units = g_.in.units(), plane = g_.in.plane(), taps = g_.taps() * unit;
  for (std::int64_t p = 0; p < g_.out.positions(); ++p, patches += g_.depth())
    each_tap(p, [&](std::int64_t at, std::int64_t patch) {
      float* to = patches + patch;
      for (std::int64_t u = 0; u < units; ++u, to += taps)
        if (at < 0)
          std::fill_n(to, unit, 0.f);
        else
          std::copy_n(image + u * plane + at, unit, to);
    });
}

void Patches::add(const Pass& pass, const float* patches, float* image) const {
  const std::int64_t units = g_.in.units(), plane = g_.in.plane(), taps = g_.taps() * unit;
  for (std::int64_t p = 0; p < g_.out.positions(); ++p, patches += g_.depth())
    each_tap(p, [&](std::int64_t at, std::int64_t patch) {
      const float* from = patches + patch;
      for (std::int64_t u = 0; at >= 0 && u < units; ++u, from += taps)
        pass.kernels->add(from, unit, image + u * plane + at);
    });
}

void image_to_rows(const Extent& extent, const float* image, float* rows) {
  const std::int64_t units = extent.units(), plane = extent.plane();
  for (std::int64_t p = 0; p < extent.positions(); ++p)
    for (std::int64_t u = 0; u < units; ++u, rows += unit)
      std::copy_n(image + u * plane + p * unit, unit, rows);
}

void rows_to_image(const Extent& extent, const float* rows, float* image) {
  const std::int64_t units = extent.units(), plane = extent.plane();
  for (std::int64_t p = 0; p < extent.positions(); ++p)
    for (std::int64_t u = 0; u < units; ++u, rows += unit)
      std::copy_n(rows, unit, image + u * plane + p * unit);
}

}  // namespace sweetspot::engine::cpu
