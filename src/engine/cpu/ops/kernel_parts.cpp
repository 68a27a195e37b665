#include "engine/cpu/ops/kernel_parts.h"

#include <algorithm>

#include "engine/cpu/ops/tiles.h"

namespace sweetspot::engine::cpu {
namespace {

// First taps of the parts along one axis, phase by phase.
std::vector<std::int64_t> first_taps(std::int64_t kernel, std::int64_t stride, std::int64_t size) {
  std::vector<std::int64_t> found;
  for (std::int64_t phase = 0; phase < std::min(stride, kernel); ++phase)
    for (std::int64_t tap = phase; tap < kernel; tap += stride * size) found.push_back(tap);
  return found;
}

}  // namespace

bool KernelParts::trivial(const ConvGeometry& g, const Filter& filter) {
  return g.strides == model::Window{1, 1} && g.kernel.height == filter.size_lines() &&
         g.kernel.width == filter.size;
}

std::int64_t KernelParts::count(const ConvGeometry& g, const Filter& filter) {
  return std::ssize(first_taps(g.kernel.height, g.strides.height, filter.size_lines())) *
         std::ssize(first_taps(g.kernel.width, g.strides.width, filter.size));
}

KernelParts::KernelParts(const ConvGeometry& geometry, const Filter& filter)
    : g_(geometry), trivial_(trivial(g_, filter)), taps_(filter.taps()) {
  for (const std::int64_t line :
       first_taps(g_.kernel.height, g_.strides.height, filter.size_lines()))
    for (const std::int64_t column : first_taps(g_.kernel.width, g_.strides.width, filter.size))
      parts_.push_back({line, column});
  overlaps_ = std::ssize(parts_) > g_.strides.height * g_.strides.width;
  image_ = {g_.out.height + filter.size_lines() - 1, g_.out.width + filter.size - 1,
            std::ssize(parts_) * g_.in.channels};
  covers_ = std::ssize(parts_) == g_.strides.height * g_.strides.width &&
            image_.height * g_.strides.height >= g_.in.height + g_.pad_top &&
            image_.width * g_.strides.width >= g_.in.width + g_.pad_left;
  position_floats_ =
      round_up((std::ssize(parts_) - 1) * g_.in.channels + g_.in.units() * unit, unit);
  make_rows(filter);
}

void KernelParts::make_rows(const Filter& filter) {
  rows_.assign(static_cast<std::size_t>(image_.units() * unit * taps_), -1);
  for (std::int64_t k = 0; k < image_.channels; ++k)
    for (std::int64_t tap = 0; tap < taps_; ++tap) {
      const Part& part = parts_[static_cast<std::size_t>(k / g_.in.channels)];
      const std::int64_t channel = k % g_.in.channels;
      const std::int64_t line = part.line + tap / filter.size * g_.strides.height,
                         column = part.column + tap % filter.size * g_.strides.width;
      if (line >= g_.kernel.height || column >= g_.kernel.width) continue;
      rows_[static_cast<std::size_t>(k * taps_ + tap)] = static_cast<std::int32_t>(
          (channel / unit * g_.taps() + line * g_.kernel.width + column) * unit + channel % unit);
    }
}

KernelParts::Span KernelParts::span(std::int64_t positions, std::int64_t size, std::int64_t stride,
                                    std::int64_t offset) {
  const std::int64_t begin = offset < 0 ? pieces(-offset, stride) : 0;
  const std::int64_t end =
      offset < size ? std::min(positions, (size - 1 - offset) / stride + 1) : 0;
  return {begin, std::max(begin, end), begin * stride + offset};
}

template <class Visit>
void KernelParts::each_row(const Part& part, std::int64_t width, Visit visit) const {
  const Span lines = span(image_.height, g_.in.height, g_.strides.height, part.line - g_.pad_top);
  const Span columns = span(image_.width, g_.in.width, g_.strides.width, part.column - g_.pad_left);
  if (columns.begin == columns.end) return;
  for (std::int64_t y = lines.begin; y < lines.end; ++y) {
    const std::int64_t line = lines.first + (y - lines.begin) * g_.strides.height;
    visit((y * width + columns.begin) * position_floats_,
          (line * g_.in.width + columns.first) * unit, columns.end - columns.begin);
  }
}

void KernelParts::select(const Pass& pass, const float* sample, float* to,
                         std::int64_t width) const {
  for (const Part& part : parts_) {
    for (std::int64_t u = 0; u < g_.in.units(); ++u)
      each_row(part, width, [&](std::int64_t at, std::int64_t from, std::int64_t positions) {
        pass.kernels->copy_rows(sample + u * g_.in.plane() + from, g_.strides.width * unit,
                                positions, unit, to + at + u * unit, position_floats_);
      });
    to += g_.in.channels;
  }
}

void KernelParts::collect(const Pass& pass, const float* from, float* sample) const {
  if (!covers_) std::fill_n(sample, g_.in.floats(), 0.f);
  for (const Part& part : parts_) {
    for (std::int64_t u = 0; u < g_.in.units(); ++u)
      each_row(part, image_.width, [&](std::int64_t at, std::int64_t to, std::int64_t positions) {
        pass.kernels->take_lanes({from + at + u * unit, position_floats_, positions,
                                  std::min(unit, g_.in.channels - u * unit), overlaps_,
                                  sample + u * g_.in.plane() + to, g_.strides.width * unit});
      });
    from += g_.in.channels;
  }
}

}  // namespace sweetspot::engine::cpu
