#include "engine/cpu/ops/minimal_filtering.h"

#include <algorithm>

#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// Rows that use a panel of weights several times while it is in cache; a few register tiles.
constexpr std::int64_t most_rows = 48, least_rows = 24;
// Transformed inputs and outputs that stay in an L2 cache.
constexpr std::int64_t cached_floats = 320 * 1024;
// Transformed weight gradients of a thread that stay in its cache between chunks.
constexpr std::int64_t cached_sums = 160 * 1024;
// Input channels whose weight gradients are inverse-transformed together.
constexpr std::int64_t sum_depth = 24;

std::int64_t tiles(const ConvGeometry& g, const Filter& filter) {
  return pieces(g.out.height, filter.tile) * pieces(g.out.width, filter.tile);
}
// Per pair of input and output channel.
std::int64_t multiplications(const ConvGeometry& g, const Filter& filter) {
  return filter.points() * tiles(g, filter);
}

// Tiles of a micro-batch that amortise transforming the weights, at memory bandwidth if they exceed
// the caches.
std::int64_t least_tiles(const ConvGeometry& g) {
  return g.depth() * g.columns() * 4 < 1024 * 1024 ? 16 : 64;
}

}  // namespace

std::int64_t MinimalFiltering::Way::weight_floats() const {
  return filter.points() * apart(depth() * columns());
}

std::optional<Filter> MinimalFiltering::best(const ConvGeometry& g, std::int64_t micro_batch) {
  if (g.compact || g.strides != model::Window{1, 1} || g.kernel.height != g.kernel.width)
    return std::nullopt;
  std::optional<Filter> found;
  for (const Filter& filter : {Filter{4, 3}, Filter{2, 3}, Filter{2, 5}})
    if (filter.size == g.kernel.height &&
        (!found || multiplications(g, filter) < multiplications(g, *found)))
      found = filter;
  // The transforms cost about a third of what the multiplications do.
  if (!found || tiles(g, *found) * micro_batch < least_tiles(g) ||
      4 * multiplications(g, *found) > 3 * g.taps() * g.out.positions())
    return std::nullopt;
  return found;
}

MinimalFiltering::MinimalFiltering(const ConvGeometry& geometry, const Filter& filter,
                                   std::int64_t micro_batch)
    : g_(geometry), filter_(filter), forward_(make_way(false)), back_(make_way(true)) {
  const std::int64_t wide = forward_.depth() + forward_.columns();
  const bool streams = g_.depth() * g_.columns() >= 1024 * 1024;
  rows_ = streams
              ? most_rows
              : std::clamp(cached_floats / filter_.points() / wide / 6 * 6, least_rows, most_rows);
  rows_ = std::min(rows_, std::max(forward_.tiles(), back_.tiles()) * micro_batch);
  samples_ = std::clamp<std::int64_t>(rows_ / forward_.tiles(), 1, micro_batch);
  keeps_sums_ = forward_.weight_floats() <= cached_sums;
  ScratchLayout kept, working;
  frame_at_ = kept.add_floats(forward_.frame_floats());
  gradient_frame_at_ = kept.add_floats(back_.frame_floats());
  sums_at_ = kept.add_floats(keeps_sums_ ? forward_.weight_floats() : 0);
  kept_bytes_ = kept.size();
  const std::int64_t most = std::max(forward_.depth(), back_.depth());
  inputs_at_ = working.add_floats(filter_.points() * apart(rows_ * most));
  products_at_ = working.add_floats(filter_.points() * apart(rows_ * most));
  chunk_at_ = working.add_floats(keeps_sums_ ? 0 : filter_.points() * apart(sum_depth * panel));
  working_bytes_ = working.size();
}

MinimalFiltering::Way MinimalFiltering::make_way(bool back) const {
  Way way{};
  way.filter = filter_;
  way.in = back ? g_.out : g_.in, way.out = back ? g_.in : g_.out;
  way.down = pieces(way.out.height, filter_.tile);
  way.across = pieces(way.out.width, filter_.tile);
  if (back) {  // the gradient starts after all taps but one; tiles begin at the padding
    way.top = way.left = filter_.size - 1;
    way.lead_line = g_.pad_top, way.lead_column = g_.pad_left;
  } else {
    way.top = g_.pad_top, way.left = g_.pad_left;
  }
  // Tiles of the gradient itself are read for the weights.
  way.height = std::max(way.top + round_up(way.in.height, filter_.tile),
                        way.lead_line + (way.down - 1) * filter_.tile + filter_.side());
  way.width = std::max(way.left + round_up(way.in.width, filter_.tile),
                       way.lead_column + (way.across - 1) * filter_.tile + filter_.side());
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
          filter_, pass.weights + g_.weights + first * g_.depth() + tap * width + n - first,
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
          filter_, turned + first * depth * g_.taps() + tap * width + n - first, unit * width,
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

void MinimalFiltering::forward(const ConvImages& images, const float* weights,
                               const Memory& memory) const {
  convolve(forward_, images, weights, g_.bias ? images.pass.weights + *g_.bias : nullptr, g_.relu,
           memory);
}

void MinimalFiltering::backward(const ConvImages& images, const float* weights,
                                const Memory& memory) const {
  convolve(back_, images, weights + forward_.weight_floats(), nullptr, false, memory);
}

void MinimalFiltering::convolve(const Way& way, const ConvImages& images, const float* weights,
                                const float* bias, bool relu, const Memory& memory) const {
  const Pass& pass = images.pass;
  auto* frame =
      reinterpret_cast<float*>(memory.kept + (&way == &forward_ ? frame_at_ : gradient_frame_at_));
  auto* inputs = reinterpret_cast<float*>(memory.working + inputs_at_);
  auto* products = reinterpret_cast<float*>(memory.working + products_at_);
  const std::int64_t depth = way.depth(), tiles = way.tiles(),
                     plane = way.height * way.width * unit;
  const std::int64_t product_stride = apart(rows_ * way.columns());
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
        pass.kernels->winograd_input(filter_.side() - 1, corner + u * plane, way.width * unit,
                                     inputs + r * depth + u * unit, apart(rows_ * depth));
    }
    Multiply m{};
    m.row_stride = depth, m.rows = rows, m.segments = 1, m.run = depth;
    m.c_row_stride = way.columns(), m.c_unit_stride = unit;
    for (std::int64_t p = 0; p < filter_.points(); ++p)
      for (std::int64_t n = 0; n < way.columns(); n += panel) {
        m.a = inputs + p * apart(rows_ * depth);
        m.b = weights + p * apart(depth * way.columns()) + n * depth;
        m.width = std::min(panel, way.columns() - n);
        m.c = products + p * product_stride + n;
        pass.kernels->multiply(m);
      }
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t t = (first + r) % tiles, y = t / way.across * filter_.tile,
                         x = t % way.across * filter_.tile;
      float* to = pass.at(images.to, images.samples.begin + (first + r) / tiles, images.thread) +
                  (y * way.out.width + x) * unit;
      for (std::int64_t c = 0; c < way.columns(); c += unit)
        pass.kernels->filter_output(
            filter_, {products + r * way.columns() + c, product_stride, bias ? bias + c : nullptr,
                      relu, to + c / unit * way.out.plane(), way.out.width * unit,
                      std::min(filter_.tile, way.out.height - y),
                      std::min(filter_.tile, way.out.width - x)});
    }
  }
}

// Inputs and gradients of tiles [first, first + rows) into points.
void MinimalFiltering::transform_rows(const ConvImages& images, std::int64_t first,
                                      std::int64_t rows, const Memory& memory,
                                      std::int64_t& framed) const {
  const Pass& pass = images.pass;
  auto* frame = reinterpret_cast<float*>(memory.kept + frame_at_);
  auto* gradient_frame = reinterpret_cast<float*>(memory.kept + gradient_frame_at_);
  auto* inputs = reinterpret_cast<float*>(memory.working + inputs_at_);
  auto* gradients = reinterpret_cast<float*>(memory.working + products_at_);
  const std::int64_t depth = forward_.depth(), columns = forward_.columns();
  const std::int64_t plane = forward_.height * forward_.width * unit,
                     gradient_plane = back_.height * back_.width * unit;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t sample = images.samples.begin + (first + r) / forward_.tiles(),
                       t = (first + r) % forward_.tiles();
    if (sample != framed) {
      framed = sample;
      fill_frame(forward_, pass.at(images.from, sample, images.thread), frame);
      fill_frame(back_, pass.at(images.to, sample, images.thread), gradient_frame);
    }
    const float* corner = frame + forward_.corner(t);
    for (std::int64_t u = 0; u < forward_.in.units(); ++u)
      pass.kernels->winograd_input(filter_.side() - 1, corner + u * plane, forward_.width * unit,
                                   inputs + r * depth + u * unit, apart(rows_ * depth));
    const std::int64_t line = back_.top + t / forward_.across * filter_.tile,
                       column = back_.left + t % forward_.across * filter_.tile;
    const float* gradient = gradient_frame + (line * back_.width + column) * unit;
    for (std::int64_t u = 0; u < back_.in.units(); ++u)
      pass.kernels->filter_gradient(filter_, gradient + u * gradient_plane, back_.width * unit,
                                    gradients + r * columns + u * unit, apart(rows_ * columns));
  }
}

void MinimalFiltering::sum_points(const Pass& pass, const Memory& memory, const Sums& sums) const {
  const auto* inputs = reinterpret_cast<const float*>(memory.working + inputs_at_);
  const auto* gradients = reinterpret_cast<const float*>(memory.working + products_at_);
  const std::int64_t depth = forward_.depth(), columns = forward_.columns();
  Outer o{};
  o.row_stride = depth, o.rows = sums.rows, o.depth = sums.depth;
  o.g_row_stride = columns, o.g_unit_stride = unit, o.accumulate = sums.accumulate;
  o.width = sums.row_stride;
  for (std::int64_t p = 0; p < filter_.points(); ++p) {
    o.a = inputs + p * apart(rows_ * depth) + sums.k;
    o.g = gradients + p * apart(rows_ * columns) + sums.column;
    o.d = sums.to + p * sums.point_stride;
    pass.kernels->outer(o);
  }
}

void MinimalFiltering::add_taps(const Pass& pass, const Sums& sums, float* slot) const {
  const std::int64_t width = sums.row_stride;
  for (std::int64_t i = 0; i < sums.depth; ++i) {
    const std::int64_t k = sums.k + i, tap = k / unit * g_.taps() * unit + k % unit;
    for (std::int64_t n = 0; n < width; n += unit)
      pass.kernels->filter_weight_gradient(filter_, sums.to + i * width + n, sums.point_stride,
                                           slot + sums.column * g_.depth() + tap * width + n,
                                           unit * width);
  }
}

void MinimalFiltering::add_weights(const ConvImages& images, const SlotPart& part,
                                   const Memory& memory, float* slot) const {
  const Pass& pass = images.pass;
  const std::int64_t depth = forward_.depth(), columns = forward_.columns();
  const std::int64_t all = (part.samples.end - part.samples.begin) * forward_.tiles();
  auto* kept = reinterpret_cast<float*>(memory.kept + sums_at_);
  auto* chunk = reinterpret_cast<float*>(memory.working + chunk_at_);
  const auto kept_sums = [&](std::int64_t rows, std::int64_t column) {
    return Sums{rows,
                0,
                depth,
                column,
                kept + column * depth,
                std::min(panel, columns - column),
                apart(depth * columns),
                true};
  };
  if (keeps_sums_ && part.begins) std::fill_n(kept, forward_.weight_floats(), 0.f);
  std::int64_t framed = -1;
  for (std::int64_t first = 0; first < all; first += rows_) {
    const std::int64_t rows = std::min(rows_, all - first);
    transform_rows(images, first, rows, memory, framed);
    for (std::int64_t n = 0; n < columns; n += panel) {
      if (keeps_sums_) {
        sum_points(pass, memory, kept_sums(rows, n));
        continue;
      }
      for (std::int64_t k = 0; k < depth; k += sum_depth) {
        const Sums sums{rows,
                        k,
                        std::min(sum_depth, depth - k),
                        n,
                        chunk,
                        std::min(panel, columns - n),
                        apart(sum_depth * panel),
                        false};
        sum_points(pass, memory, sums);
        add_taps(pass, sums, slot);
      }
    }
  }
  for (std::int64_t n = 0; keeps_sums_ && part.ends && n < columns; n += panel)
    add_taps(pass, kept_sums(0, n), slot);
}

}  // namespace sweetspot::engine::cpu
