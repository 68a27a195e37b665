#include "engine/cpu/ops/minimal_filtering.h"

#include <algorithm>

#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// Rows that use a panel of weights several times while it is in cache; a few register tiles.
constexpr std::int64_t most_rows = 48;
// Transformed inputs that leave room in a second-level cache of 2 MiB.
constexpr std::int64_t most_input_floats = 256 * 1024;
// Transformed weight gradients of a thread that stay near its caches.
constexpr std::int64_t most_sum_floats = 1536 * 1024;
// Tiles of a micro-batch that pay for transforming the weights.
constexpr std::int64_t least_tiles = 16;

// Floats from one point to the next: not a multiple of what maps to one set of a cache, since a
// transform writes all points of a tile.
std::int64_t apart(std::int64_t floats) { return floats / unit % 2 == 0 ? floats + unit : floats; }

std::int64_t points(std::int64_t tile) { return (tile + 2) * (tile + 2); }

// Multiplications for each pair of input and output channel.
std::int64_t multiplications(const ConvGeometry& g, std::int64_t tile) {
  return points(tile) * pieces(g.out.height, tile) * pieces(g.out.width, tile);
}

}  // namespace

std::int64_t MinimalFiltering::Way::weight_floats() const {
  return points(tile) * apart(depth() * columns());
}

std::optional<std::int64_t> MinimalFiltering::tile(const ConvGeometry& g,
                                                   std::int64_t micro_batch) {
  if (g.compact || g.strides != model::Window{1, 1} || g.kernel != model::Window{3, 3})
    return std::nullopt;
  const std::int64_t tile = multiplications(g, 4) <= multiplications(g, 2) ? 4 : 2;
  const std::int64_t tiles = pieces(g.out.height, tile) * pieces(g.out.width, tile) * micro_batch;
  // The transforms cost about a third of what the multiplications do.
  if (tiles < least_tiles || 4 * multiplications(g, tile) > 3 * g.taps() * g.out.positions())
    return std::nullopt;
  return tile;
}

MinimalFiltering::MinimalFiltering(const ConvGeometry& geometry, std::int64_t tile,
                                   std::int64_t micro_batch)
    : g_(geometry), tile_(tile), forward_(make_way(false)), back_(make_way(true)) {
  const std::int64_t deepest = std::max(forward_.depth(), back_.depth());
  rows_ =
      std::clamp<std::int64_t>(most_input_floats / points(tile_) / deepest / 6 * 6, 12, most_rows);
  rows_ = std::min(rows_, forward_.tiles() * micro_batch);
  samples_ = std::clamp<std::int64_t>(rows_ / forward_.tiles(), 1, micro_batch);
  sums_weights_ = forward_.weight_floats() <= most_sum_floats &&
                  forward_.tiles() * micro_batch >= 4 * least_tiles;
  ScratchLayout kept, working;
  frame_at_ = kept.add_floats(forward_.frame_floats());
  gradient_frame_at_ = kept.add_floats(back_.frame_floats());
  sums_at_ = kept.add_floats(sums_weights_ ? forward_.weight_floats() : 0);
  kept_bytes_ = kept.size();
  inputs_at_ = working.add_floats(points(tile_) * apart(rows_ * deepest));
  products_at_ = working.add_floats(
      points(tile_) * apart(rows_ * std::max(panel, sums_weights_ ? forward_.columns() : 0)));
  working_bytes_ = working.size();
}

MinimalFiltering::Way MinimalFiltering::make_way(bool back) const {
  Way way{};
  way.tile = tile_;
  way.in = back ? g_.out : g_.in, way.out = back ? g_.in : g_.out;
  way.down = pieces(way.out.height, tile_), way.across = pieces(way.out.width, tile_);
  if (back) {  // the gradient lies two taps from the frame's corner; tiles begin at the padding
    way.top = way.left = 2;
    way.lead_line = g_.pad_top, way.lead_column = g_.pad_left;
  } else {
    way.top = g_.pad_top, way.left = g_.pad_left;
  }
  // Tiles of the gradient itself are read for the weights.
  way.height =
      std::max(way.top + round_up(way.in.height, tile_), way.lead_line + way.down * tile_ + 2);
  way.width =
      std::max(way.left + round_up(way.in.width, tile_), way.lead_column + way.across * tile_ + 2);
  return way;
}

void MinimalFiltering::transform_weights(const Pass& pass, float* to, int part, int parts) const {
  const std::int64_t depth = forward_.depth(), columns = forward_.columns();
  const Range rows = share(depth, part, parts);
  for (std::int64_t n = 0; n < columns; n += unit) {
    const std::int64_t first = n / panel * panel, width = std::min(panel, columns - first);
    for (std::int64_t k = rows.begin; k < rows.end; ++k) {
      const std::int64_t tap = k / unit * g_.taps() * unit + k % unit;
      pass.kernels->filter_weights(
          tile_, pass.weights + g_.weights + first * g_.depth() + tap * width + n - first,
          unit * width, to + first * depth + k * width + n - first, apart(depth * columns));
    }
  }
}

void MinimalFiltering::transform_turned(const Pass& pass, const float* turned, float* to, int part,
                                        int parts) const {
  to += forward_.weight_floats();
  const std::int64_t depth = back_.depth(), columns = back_.columns();
  const Range units = share(back_.out.units(), part, parts);
  for (std::int64_t n = units.begin * unit; n < units.end * unit; n += unit) {
    const std::int64_t first = n / panel * panel, width = std::min(panel, columns - first);
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t tap = k / unit * g_.taps() * unit + k % unit;
      pass.kernels->filter_weights(
          tile_, turned + first * depth * g_.taps() + tap * width + n - first, unit * width,
          to + first * depth + k * width + n - first, apart(depth * columns));
    }
  }
}

void MinimalFiltering::fill_frame(const Way& way, const float* image, float* frame) const {
  const std::int64_t lines = std::min(way.in.height, way.height - way.top),
                     columns = std::min(way.in.width, way.width - way.left);
  for (std::int64_t u = 0; u < way.in.units(); ++u)
    for (std::int64_t y = 0; y < lines; ++y)
      std::copy_n(image + u * way.in.plane() + y * way.in.width * unit, columns * unit,
                  frame + ((u * way.height + y + way.top) * way.width + way.left) * unit);
}

void MinimalFiltering::forward(const Images& images, const float* weights,
                               const Memory& memory) const {
  convolve(forward_, images, weights, g_.bias ? images.pass.weights + *g_.bias : nullptr, g_.relu,
           memory);
}

void MinimalFiltering::backward(const Images& images, const float* weights,
                                const Memory& memory) const {
  convolve(back_, images, weights + forward_.weight_floats(), nullptr, false, memory);
}

void MinimalFiltering::convolve(const Way& way, const Images& images, const float* weights,
                                const float* bias, bool relu, const Memory& memory) const {
  const Pass& pass = images.pass;
  auto* frame =
      reinterpret_cast<float*>(memory.kept + (&way == &forward_ ? frame_at_ : gradient_frame_at_));
  auto* inputs = reinterpret_cast<float*>(memory.working + inputs_at_);
  auto* products = reinterpret_cast<float*>(memory.working + products_at_);
  const std::int64_t depth = way.depth(), tiles = way.tiles(),
                     plane = way.height * way.width * unit;
  const std::int64_t all = (images.samples.end - images.samples.begin) * tiles;
  std::int64_t framed = -1;
  for (std::int64_t first = 0; first < all; first += rows_) {
    const std::int64_t rows = std::min(rows_, all - first);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t sample = images.samples.begin + (first + r) / tiles;
      if (sample != framed)
        fill_frame(way, pass.at(images.from, framed = sample, images.thread), frame);
      const float* corner = frame + way.corner((first + r) % tiles);
      for (std::int64_t u = 0; u < way.in.units(); ++u)
        pass.kernels->winograd_input(tile_ + 1, corner + u * plane, way.width * unit,
                                     inputs + r * depth + u * unit, apart(rows_ * depth));
    }
    for (std::int64_t n = 0; n < way.columns(); n += panel) {
      Multiply m{};
      m.row_stride = depth, m.rows = rows, m.segments = 1, m.run = depth;
      m.width = std::min(panel, way.columns() - n);
      m.c_row_stride = panel, m.c_unit_stride = unit;
      for (std::int64_t p = 0; p < points(tile_); ++p) {
        m.a = inputs + p * apart(rows_ * depth);
        m.b = weights + p * apart(depth * way.columns()) + n * depth;
        m.c = products + p * apart(rows_ * panel);
        pass.kernels->multiply(m);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t t = (first + r) % tiles, y = t / way.across * tile_,
                           x = t % way.across * tile_;
        float* to = pass.at(images.to, images.samples.begin + (first + r) / tiles, images.thread) +
                    (y * way.out.width + x) * unit;
        for (std::int64_t c = 0; c < m.width; c += unit)
          pass.kernels->filter_output(
              tile_, {products + r * panel + c, apart(rows_ * panel), bias ? bias + n + c : nullptr,
                      relu, to + (n + c) / unit * way.out.plane(), way.out.width * unit,
                      std::min(tile_, way.out.height - y), std::min(tile_, way.out.width - x)});
      }
    }
  }
}

void MinimalFiltering::clear_weights(const Memory& memory) const {
  std::fill_n(reinterpret_cast<float*>(memory.kept + sums_at_), forward_.weight_floats(), 0.f);
}

void MinimalFiltering::sum_weights(const Images& images, const Memory& memory) const {
  const Pass& pass = images.pass;
  auto* frame = reinterpret_cast<float*>(memory.kept + frame_at_);
  auto* gradient_frame = reinterpret_cast<float*>(memory.kept + gradient_frame_at_);
  auto* inputs = reinterpret_cast<float*>(memory.working + inputs_at_);
  auto* gradients = reinterpret_cast<float*>(memory.working + products_at_);
  auto* sums = reinterpret_cast<float*>(memory.kept + sums_at_);
  const std::int64_t depth = forward_.depth(), columns = forward_.columns(),
                     tiles = forward_.tiles();
  const std::int64_t plane = forward_.height * forward_.width * unit,
                     gradient_plane = back_.height * back_.width * unit;
  const std::int64_t all = (images.samples.end - images.samples.begin) * tiles;
  std::int64_t framed = -1;
  for (std::int64_t first = 0; first < all; first += rows_) {
    const std::int64_t rows = std::min(rows_, all - first);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t sample = images.samples.begin + (first + r) / tiles,
                         t = (first + r) % tiles;
      if (sample != framed) {
        framed = sample;
        fill_frame(forward_, pass.at(images.from, sample, images.thread), frame);
        fill_frame(back_, pass.at(images.to, sample, images.thread), gradient_frame);
      }
      const float* corner = frame + forward_.corner(t);
      for (std::int64_t u = 0; u < forward_.in.units(); ++u)
        pass.kernels->winograd_input(tile_ + 1, corner + u * plane, forward_.width * unit,
                                     inputs + r * depth + u * unit, apart(rows_ * depth));
      const float* gradient =
          gradient_frame + ((back_.top + t / forward_.across * tile_) * back_.width + back_.left +
                            t % forward_.across * tile_) *
                               unit;
      for (std::int64_t u = 0; u < back_.in.units(); ++u)
        pass.kernels->filter_gradient(tile_, gradient + u * gradient_plane, back_.width * unit,
                                      gradients + r * columns + u * unit, apart(rows_ * columns));
    }
    Outer o{};
    o.row_stride = depth, o.rows = rows, o.depth = depth;
    o.g_row_stride = columns, o.g_unit_stride = unit, o.accumulate = true;
    for (std::int64_t p = 0; p < points(tile_); ++p)
      for (std::int64_t n = 0; n < columns; n += panel) {
        o.a = inputs + p * apart(rows_ * depth);
        o.g = gradients + p * apart(rows_ * columns) + n;
        o.width = std::min(panel, columns - n);
        o.d = sums + p * apart(depth * columns) + n * depth;
        pass.kernels->outer(o);
      }
  }
}

void MinimalFiltering::add_weights(const Pass& pass, const Memory& memory, float* slot) const {
  const auto* sums = reinterpret_cast<const float*>(memory.kept + sums_at_);
  const std::int64_t depth = forward_.depth(), columns = forward_.columns();
  for (std::int64_t n = 0; n < columns; n += unit) {
    const std::int64_t first = n / panel * panel, width = std::min(panel, columns - first);
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t tap = k / unit * g_.taps() * unit + k % unit;
      pass.kernels->filter_weight_gradient(
          tile_, sums + first * depth + k * width + n - first, apart(depth * columns),
          slot + first * g_.depth() + tap * width + n - first, unit * width);
    }
  }
}

}  // namespace sweetspot::engine::cpu
