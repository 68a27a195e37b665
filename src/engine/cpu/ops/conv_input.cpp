#include "engine/cpu/ops/conv_input.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

constexpr int longest_fixed_run = 16;

}  // namespace

std::vector<std::int32_t> conv_rows(const ConvGeometry& g) {
  std::vector<std::int32_t> rows;
  for (std::int64_t tap = 0; tap < g.taps(); ++tap)
    for (std::int64_t c = 0; c < g.in.channels; ++c)
      rows.push_back(static_cast<std::int32_t>(
          g.compact ? tap * g.in.channels + c : (c / unit * g.taps() + tap) * unit + c % unit));
  return rows;
}

std::vector<std::int32_t> row_major(const Extent& out) {
  std::vector<std::int32_t> positions(static_cast<std::size_t>(out.positions()));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

std::vector<std::int32_t> window_major(const ConvGeometry& g) {
  std::vector<std::int32_t> positions;
  for (std::int64_t y = 0; y < g.out.height; y += g.pool.height)
    for (std::int64_t x = 0; x < g.out.width; x += g.pool.width)
      for (std::int64_t dy = 0; dy < g.pool.height; ++dy)
        for (std::int64_t dx = 0; dx < g.pool.width; ++dx)
          positions.push_back(static_cast<std::int32_t>((y + dy) * g.out.width + x + dx));
  return positions;
}

std::int64_t rows_at_once(const ConvGeometry& g) {
  return g.compact ? std::clamp<std::int64_t>(24 * 1024 / 4 / g.depth(), 12,
                                              std::max<std::int64_t>(g.out.positions(), 12))
                   : g.out.positions();
}

ConvInput::ConvInput(const ConvGeometry& geometry, const std::vector<std::int32_t>& positions,
                     std::int64_t rows_at_once)
    : g_(geometry), rows_at_once_(rows_at_once), channels_(g_.compact ? g_.in.channels : unit) {
  // The rows and columns that the kernel reads, including padding.
  height_ = (g_.out.height - 1) * g_.strides.height + g_.kernel.height;
  width_ = (g_.out.width - 1) * g_.strides.width + g_.kernel.width;
  const std::int64_t in_height = g_.raw_input ? g_.input.height : g_.in.height;
  const std::int64_t in_width = g_.raw_input ? g_.input.width : g_.in.width;
  framed_ = g_.pad_top > 0 || g_.pad_left > 0 || height_ > in_height || width_ > in_width ||
            (g_.compact && !g_.raw_input) || rescales();
  if (!framed_) height_ = in_height, width_ = in_width;
  for (const std::int32_t at : positions) {
    const std::int64_t y = at / g_.out.width * g_.strides.height,
                       x = at % g_.out.width * g_.strides.width;
    row_offsets_.push_back(static_cast<std::int32_t>((y * width_ + x) * channels_));
  }
  for (std::int64_t u = 0; u < (g_.compact ? 1 : g_.in.units()); ++u)
    for (std::int64_t line = 0; line < g_.kernel.height; ++line)
      segment_offsets_.push_back(
          static_cast<std::int32_t>(u * frame_plane() + line * width_ * channels_));
}

core::Bytes ConvInput::frame_bytes() const {
  if (!framed_) return 0;
  return aligned(static_cast<core::Bytes>(frame_numbers()) * sizeof(float));
}

core::Bytes ConvInput::scratch_bytes() const {
  const std::int64_t patches = g_.compact ? rows_at_once_ * g_.depth() : 0;
  return frame_bytes() + static_cast<core::Bytes>(patches) * sizeof(float);
}

void ConvInput::round_weights(const Pass& pass, Bf16* to, int part, int parts) const {
  const std::int64_t run = g_.kernel.width * channels_, pairs = round_up(run, 2);
  const Range mine = share(segments(), part, parts);
  for (std::int64_t n = 0; n < g_.columns(); n += panel) {
    const std::int64_t width = std::min(panel, g_.columns() - n);
    for (std::int64_t s = mine.begin; s < mine.end; ++s)
      pass.bf16->pair_rows(pass.weights + g_.weights + n * g_.depth() + s * run * width, width, run,
                           width, to + n * rounded_depth() + s * pairs * width, 2 * width);
  }
}

const float* ConvInput::frame(const float* sample, std::byte* scratch) const {
  if (!framed_) return sample;
  auto* to = reinterpret_cast<float*>(scratch);
  const std::int64_t in_height = g_.raw_input ? g_.input.height : g_.in.height;
  const std::int64_t in_width = g_.raw_input ? g_.input.width : g_.in.width;
  const std::int64_t lines = std::min(in_height, height_ - g_.pad_top);
  const std::int64_t columns = std::min(in_width, width_ - g_.pad_left);
  const std::int64_t line = width_ * channels_, channels = channels_;
  float* corner = to + (g_.pad_top * width_ + g_.pad_left) * channels;
  if (g_.compact && !g_.raw_input) {
    for (std::int64_t y = 0; y < lines; ++y)
      for (std::int64_t x = 0; x < columns; ++x)
        for (std::int64_t c = 0; c < channels; ++c)
          corner[y * line + x * channels + c] = sample[(y * in_width + x) * unit + c];
    return to;
  }
  if (rescales()) {
    const float scale = g_.scale, shift = g_.shift;
    for (std::int64_t y = 0; y < lines; ++y, sample += in_width * channels, corner += line)
      for (std::int64_t i = 0; i < columns * channels; ++i) corner[i] = sample[i] * scale + shift;
    return to;
  }
  for (std::int64_t u = 0; u < (g_.compact ? 1 : g_.in.units()); ++u)
    for (std::int64_t y = 0; y < lines; ++y)
      std::copy_n(sample + (u * in_height + y) * in_width * channels, columns * channels,
                  corner + u * frame_plane() + y * line);
  return to;
}

// `fixed_run`: the run; 0: any.
template <int fixed_run>
void ConvInput::gather(const float* frame, float* to, std::int64_t first, std::int64_t rows,
                       std::int64_t run) const {
  const std::size_t bytes =
      static_cast<std::size_t>(fixed_run > 0 ? fixed_run : run) * sizeof(float);
  // In locals: memcpy might alias anything else, which would be reloaded after each call.
  const std::int32_t* offsets = row_offsets_.data() + first;
  const std::int64_t lines = g_.kernel.height, line = width_ * g_.in.channels;
  const std::int64_t padding = g_.depth() - lines * run;
  for (std::int64_t r = 0; r < rows; ++r, to += padding) {
    const float* from = frame + offsets[r];
    for (std::int64_t y = 0; y < lines; ++y, from += line, to += run) std::memcpy(to, from, bytes);
  }
}

// Short runs are copied without a loop or a call.
template <int fixed_run>
void ConvInput::gather_run(const float* frame, float* to, std::int64_t first, std::int64_t rows,
                           std::int64_t run) const {
  if constexpr (fixed_run > 0)
    if (run != fixed_run) return gather_run<fixed_run - 1>(frame, to, first, rows, run);
  gather<fixed_run>(frame, to, first, rows, run);
}

float* ConvInput::patches(const float* frame, std::byte* scratch, std::int64_t first,
                          std::int64_t rows) const {
  auto* to = reinterpret_cast<float*>(scratch + frame_bytes());
  const std::int64_t run = g_.kernel.width * g_.in.channels;
  gather_run<longest_fixed_run>(frame, to, first, rows, run);
  return to;
}

ConvInput::Memory ConvInput::memory(std::byte* scratch) const {
  return {reinterpret_cast<float*>(scratch), reinterpret_cast<float*>(scratch + frame_bytes())};
}

void ConvInput::add_patches(const Pass& pass, const float* patches, std::int64_t first,
                            std::int64_t rows, float* frame) const {
  pass.kernels->add_patches({row_offsets_.data() + first, rows, g_.kernel.height,
                             g_.kernel.width * channels_, width_ * channels_, g_.depth()},
                            patches, frame);
}

void ConvInput::unframe(const float* frame, const Finish& finish, float* image) const {
  const std::int64_t lines = std::min(g_.in.height, height_ - g_.pad_top),
                     columns = std::min(g_.in.width, width_ - g_.pad_left), channels = channels_;
  float first[unit] = {};  // of a position: the bias, and zeros after the last channel
  if (finish.bias) std::copy_n(finish.bias, channels, first);
  for (std::int64_t y = 0; y < g_.in.height; ++y)
    for (std::int64_t x = 0; x < g_.in.width; ++x, image += unit) {
      std::copy_n(first, unit, image);
      const bool inside = y < lines && x < columns;
      const float* from = frame + ((y + g_.pad_top) * width_ + x + g_.pad_left) * channels;
      for (std::int64_t c = 0; inside && c < channels; ++c) image[c] += from[c];
      for (std::int64_t c = 0; finish.relu && c < channels; ++c)
        image[c] = image[c] <= 0 ? 0 : image[c];  // a NaN passes
    }
}

}  // namespace sweetspot::engine::cpu
