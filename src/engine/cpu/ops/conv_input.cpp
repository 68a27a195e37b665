#include "engine/cpu/ops/conv_input.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sweetspot::engine::cpu {

std::vector<std::int32_t> conv_rows(const ConvGeometry& g) {
  std::vector<std::int32_t> rows;
  for (std::int64_t tap = 0; tap < g.taps(); ++tap)
    for (std::int64_t c = 0; c < g.in.channels; ++c)
      rows.push_back(static_cast<std::int32_t>(
          g.raw_input ? tap * g.in.channels + c : (c / unit * g.taps() + tap) * unit + c % unit));
  return rows;
}

ConvInput::ConvInput(const ConvGeometry& geometry, std::vector<std::int32_t> positions,
                     std::int64_t rows_at_once)
    : g_(geometry), positions_(std::move(positions)), rows_at_once_(rows_at_once) {
  // The lines and columns that the kernel reads, padding included.
  height_ = (g_.out.height - 1) * g_.strides.height + g_.kernel.height;
  width_ = (g_.out.width - 1) * g_.strides.width + g_.kernel.width;
  const std::int64_t in_height = g_.raw_input ? g_.input.height : g_.in.height;
  const std::int64_t in_width = g_.raw_input ? g_.input.width : g_.in.width;
  padded_ = g_.pad_top > 0 || g_.pad_left > 0 || height_ > in_height || width_ > in_width;
  framed_ = padded_ && !g_.raw_input;
  if (!framed_) height_ = in_height, width_ = in_width;
  const std::int64_t channels =
      g_.raw_input ? g_.in.channels : unit;  // floats from one position to the next
  for (const std::int32_t at : positions_) {
    const std::int64_t y = at / g_.out.width * g_.strides.height,
                       x = at % g_.out.width * g_.strides.width;
    row_offsets_.push_back(static_cast<std::int32_t>((y * width_ + x) * channels));
  }
  for (std::int64_t u = 0; u < (g_.raw_input ? 1 : g_.in.units()); ++u)
    for (std::int64_t line = 0; line < g_.kernel.height; ++line)
      segment_offsets_.push_back(
          static_cast<std::int32_t>(u * frame_plane() + line * width_ * channels));
}

core::Bytes ConvInput::scratch_bytes() const {
  if (g_.raw_input) return static_cast<core::Bytes>(rows_at_once_ * g_.depth()) * sizeof(float);
  return framed_ ? static_cast<core::Bytes>(g_.in.units() * frame_plane()) * sizeof(float) : 0;
}

void ConvInput::point(Multiply& m, const float* sample, std::byte* scratch, std::int64_t first,
                      std::int64_t rows) const {
  m.rows = rows;
  if (g_.raw_input && padded_) {
    m.a = patches(sample, scratch, first, rows);
    m.row_offsets = nullptr, m.row_stride = g_.depth();
    m.segment_offsets = nullptr, m.segments = 1, m.run = g_.depth();
  } else {
    m.a = framed_ ? reinterpret_cast<const float*>(scratch) : sample;
    m.row_offsets = row_offsets_.data() + first, m.row_stride = 0;
    m.segment_offsets = segment_offsets_.data();
    m.segments = static_cast<std::int64_t>(segment_offsets_.size()),
    m.run = g_.kernel.width * (g_.raw_input ? g_.in.channels : unit);
  }
}

const float* ConvInput::frame(const float* sample, std::byte* scratch) const {
  if (!framed_) return sample;
  auto* to = reinterpret_cast<float*>(scratch);
  const std::int64_t lines = std::min(g_.in.height, height_ - g_.pad_top);
  const std::int64_t columns = std::min(g_.in.width, width_ - g_.pad_left);
  for (std::int64_t u = 0; u < g_.in.units(); ++u)
    for (std::int64_t y = 0; y < lines; ++y)
      std::copy_n(sample + u * g_.in.plane() + y * g_.in.width * unit, columns * unit,
                  to + u * frame_plane() + ((y + g_.pad_top) * width_ + g_.pad_left) * unit);
  return to;
}

float* ConvInput::patches(const float* sample, std::byte* scratch, std::int64_t first,
                          std::int64_t rows) const {
  auto* to = reinterpret_cast<float*>(scratch);
  const std::int64_t run = g_.kernel.width * g_.in.channels;
  if (padded_)
    gather_padded(sample, to, first, rows);
  else if (run == 3)
    gather<3>(sample, to, first, rows, run);
  else if (run == 4)
    gather<4>(sample, to, first, rows, run);
  else if (run == 9)
    gather<9>(sample, to, first, rows, run);
  else
    gather<0>(sample, to, first, rows, run);
  return to;
}

// `fixed_run`: the run where it is common enough to be copied without a loop; 0: any.
template <int fixed_run>
void ConvInput::gather(const float* sample, float* to, std::int64_t first, std::int64_t rows,
                       std::int64_t run) const {
  const std::size_t bytes =
      static_cast<std::size_t>(fixed_run > 0 ? fixed_run : run) * sizeof(float);
  // In locals: memcpy might write to anything else, and all of it would be read again behind each.
  const std::int32_t* offsets = row_offsets_.data() + first;
  const std::int64_t lines = g_.kernel.height, line = width_ * g_.in.channels;
  const std::int64_t padding = g_.depth() - lines * run;
  for (std::int64_t r = 0; r < rows; ++r, to += padding) {
    const float* from = sample + offsets[r];
    for (std::int64_t y = 0; y < lines; ++y, from += line, to += run) std::memcpy(to, from, bytes);
  }
}

void ConvInput::gather_padded(const float* sample, float* to, std::int64_t first,
                              std::int64_t rows) const {
  const std::int64_t channels = g_.in.channels;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = positions_[static_cast<std::size_t>(first + r)];
    const std::int64_t y0 = at / g_.out.width * g_.strides.height - g_.pad_top;
    const std::int64_t x0 = at % g_.out.width * g_.strides.width - g_.pad_left;
    float* patch = to + r * g_.depth();
    for (std::int64_t y = y0; y < y0 + g_.kernel.height; ++y)
      for (std::int64_t x = x0; x < x0 + g_.kernel.width; ++x)
        for (std::int64_t c = 0; c < channels; ++c)
          *patch++ = y >= 0 && y < g_.input.height && x >= 0 && x < g_.input.width
                         ? sample[(y * g_.input.width + x) * channels + c]
                         : 0.f;
  }
}

}  // namespace sweetspot::engine::cpu
