#include "engine/cpu/ops/channel_runs.h"

#include "engine/extents.h"

namespace sweetspot::engine::cpu {

ChannelRuns::ChannelRuns(std::int64_t channels, std::int64_t lines, std::int64_t columns,
                         std::int64_t line_stride, std::int64_t plane)
    : columns_(columns) {
  // The sums are loaded and stored once more, which takes as long as a few multiplications of each.
  constexpr std::int64_t least_saved = 4;
  const std::int64_t padding = round_up(channels, unit) - channels;
  const bool saves = padding * lines * columns >= least_saved;
  used_ = unit - padding;
  const std::int64_t units = saves ? channels / unit : round_up(channels, unit) / unit;
  for (std::int64_t u = 0; u < units; ++u)
    for (std::int64_t y = 0; y < lines; ++y)
      whole_.push_back(static_cast<std::int32_t>(u * plane + y * line_stride));
  for (std::int64_t y = 0; saves && y < lines; ++y)
    for (std::int64_t x = 0; x < columns; ++x)
      last_.push_back(static_cast<std::int32_t>(units * plane + y * line_stride + x * unit));
}

void ChannelRuns::multiply(const Kernels& kernels, const Multiply& m) const {
  Multiply some = m;
  some.segments = static_cast<std::int64_t>(whole_.size()), some.segment_offsets = whole_.data();
  some.relu = m.relu && last_.empty();
  if (some.segments > 0) kernels.multiply(some);
  if (last_.empty()) return;
  some.b += some.segments * some.run * some.width;
  if (some.segments > 0) some.adds = true, some.bias = nullptr;
  some.segments = static_cast<std::int64_t>(last_.size()), some.segment_offsets = last_.data();
  some.run = used_, some.skipped = unit - used_, some.relu = m.relu;
  kernels.multiply(some);
}

void ChannelRuns::outer(const Kernels& kernels, Outer o, const float* frame) const {
  for (const std::int32_t segment : whole_) {
    o.a = frame + segment, o.depth = columns_ * unit;
    kernels.outer(o);
    o.d += o.depth * o.width;
  }
  for (const std::int32_t tap : last_) {
    o.a = frame + tap, o.depth = used_;
    kernels.outer(o);
    o.d += unit * o.width;
  }
}

}  // namespace sweetspot::engine::cpu
