#include "engine/cpu/ops/minimal_filtering.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "engine/cpu/ops/tiles.h"
#include "engine/cpu/scratch.h"

namespace sweetspot::engine::cpu {
namespace {

// Tiles that are transformed and multiplied at once: enough to amortise reading a point's weights
// from beyond the L2 cache. (24 of 36 points, so that they stay in that cache, take 1.2 times as
// long for 192 channels, and as long for 64.)
constexpr std::int64_t square_rows = 48, flat_rows = 96;
// Transformed weight gradients of a thread that stay in its cache between chunks.
constexpr std::int64_t cached_sums = 160 * 1024;
// Input channels whose weight gradients are inverse-transformed together.
constexpr std::int64_t sum_depth = 24;
constexpr std::int64_t filter_taps = 25;  // of a filter

std::int64_t tiles(const ConvGeometry& g, const Filter& filter) {
  return pieces(g.out.height, filter.tile_lines()) * pieces(g.out.width, filter.tile);
}
// Of a micro-batch, in multiplications, for each pass. Transforming a point of an input or output
// takes as long as multiplying it with this many channels, and transforming all weights and their
// gradients as long as multiplying them with this many tiles: more at memory bandwidth, if they
// exceed the caches.
std::int64_t cost(const ConvGeometry& g, const Filter& filter, std::int64_t micro_batch) {
  // The registers hold no square of eight.
  const std::int64_t slower = filter.side() == 8 && !filter.flat ? 2 : 1;
  const std::int64_t transform_channels = slower * 12,
                     transform_tiles = slower * (g.depth() * g.columns() < 256 * 1024 ? 24 : 64);
  const std::int64_t depth = KernelParts::count(g, filter) * g.in.channels, columns = g.columns(),
                     rows = tiles(g, filter) * micro_batch;
  return filter.points() * ((rows + transform_tiles) * depth * columns +
                            rows * transform_channels * (depth + columns));
}

// The width alone if the kernel has one row. What the parts of a kernel read is copied, for each
// thread, and a copy far beyond its caches would cost more than it saves. In bf16 products of
// rounded operands are twice as fast as those in fp32, which leaves too little to gain from parts.
bool suits(const ConvGeometry& g, const Filter& filter) {
  constexpr std::int64_t most_copied = 4 * 1024 * 1024;  // floats
  const std::int64_t copied = KernelParts::count(g, filter) * g.in.channels * g.out.positions();
  return filter.flat == (g.kernel.height == 1) &&
         (KernelParts::trivial(g, filter) ? !g.bf16 || !filter.flat
                                          : !g.bf16 && copied <= most_copied);
}

}  // namespace

std::int64_t MinimalFiltering::Way::weight_floats() const {
  return filter.points() * apart(depth() * columns());
}

std::optional<Filter> MinimalFiltering::best(const ConvGeometry& g, std::int64_t micro_batch) {
  // Its rounding errors would take the place of sums that are exactly 0, and a ReLU pass them.
  if (g.compact || g.spread || g.taps() == 1) return std::nullopt;
  std::optional<Filter> found;
  std::int64_t least = 0;
  for (const Filter& filter : minimal_filters) {
    if (!suits(g, filter)) continue;
    const std::int64_t needed = cost(g, filter, micro_batch);
    if (!found || needed < least) found = filter, least = needed;
  }
  // Several products of a tile's points are slower than one of all taps.
  const std::int64_t direct =
      g.taps() * g.in.channels * g.columns() * g.out.positions() * micro_batch;
  return found && 4 * least <= 3 * direct ? found : std::nullopt;
}

MinimalFiltering::MinimalFiltering(const ConvGeometry& geometry, const Filter& filter,
                                   std::int64_t micro_batch)
    : g_(geometry),
      filter_(filter),
      parts_(g_, filter_),
      forward_(make_way(false)),
      back_(make_way(true)) {
  rows_ = filter_.flat ? flat_rows : square_rows;
  rows_ = std::min(rows_, std::max(forward_.tiles(), back_.tiles()) * micro_batch);
  samples_ = std::clamp<std::int64_t>(rows_ / forward_.tiles(), 1, micro_batch);
  keeps_sums_ = forward_.weight_floats() <= cached_sums;
  ScratchLayout kept, working;
  frame_at_ = kept.add_floats(forward_.frame_floats());
  gradient_frame_at_ = kept.add_floats(back_.frame_floats());
  sums_at_ = kept.add_floats(keeps_sums_ ? forward_.weight_floats() : 0);
  kept_bytes_ = kept.size();
  const std::int64_t widest = std::max(forward_.depth(), back_.depth());
  inputs_at_ = working.add_floats(filter_.points() * apart(rows_ * widest));
  products_at_ = working.add_floats(filter_.points() * apart(rows_ * widest));
  chunk_at_ = working.add_floats(keeps_sums_ ? 0 : filter_.points() * apart(sum_depth * panel));
  selected_at_ = working.add_floats(
      parts_.trivial() ? 0 : parts_.image().positions() * parts_.position_floats());
  working_bytes_ = working.size();
}

MinimalFiltering::Way MinimalFiltering::make_way(bool back) const {
  Way way{};
  way.filter = filter_;
  const Extent in = parts_.trivial() ? g_.in : parts_.image();
  way.in = back ? g_.out : in, way.out = back ? in : g_.out;
  way.down = pieces(way.out.height, filter_.tile_lines());
  way.across = pieces(way.out.width, filter_.tile);
  // Parts have their padding.
  const std::int64_t pad_top = parts_.trivial() ? g_.pad_top : 0,
                     pad_left = parts_.trivial() ? g_.pad_left : 0;
  if (back) {  // the gradient starts after all taps but one; tiles begin at the padding
    way.top = filter_.size_lines() - 1, way.left = filter_.size - 1;
    way.lead_line = pad_top, way.lead_column = pad_left;
  } else {
    way.top = pad_top, way.left = pad_left;
  }
  // Tiles of the gradient itself are read for the weights.
  way.height =
      std::max(way.top + round_up(way.in.height, filter_.tile_lines()),
               way.lead_line + (way.down - 1) * filter_.tile_lines() + filter_.side_lines());
  way.width = std::max(way.left + round_up(way.in.width, filter_.tile),
                       way.lead_column + (way.across - 1) * filter_.tile + filter_.side());
  const bool selected = !back && !parts_.trivial();
  way.column_stride = selected ? parts_.position_floats() : unit;
  way.unit_stride = selected ? unit : way.height * way.width * unit;
  return way;
}

std::int64_t MinimalFiltering::column_offset(std::int64_t n) const {
  const std::int64_t first = n / panel * panel;
  return first * g_.depth() + n - first;
}

void MinimalFiltering::transform_weights(const Pass& pass, float* to, int part, int parts) const {
  const std::int64_t depth = forward_.depth(), columns = forward_.columns();
  const Range rows = share(depth, part, parts);
  for (std::int64_t n = 0; n < columns; n += unit) {
    const std::int64_t first = n / panel * panel, width = std::min(panel, columns - first);
    for (std::int64_t k = rows.begin; k < rows.end; ++k)
      pass.kernels->filter_weights(
          filter_, pass.weights + g_.weights + column_offset(n), parts_.taps(k, width),
          to + first * depth + k * width + n - first, apart(depth * columns));
  }
}

// Of input channels [n, n + 16) and output channels [k, k + 16), to (taps, output, input), from
// the last tap to the first.
void MinimalFiltering::flip_taps(const Pass& pass, std::int64_t n, std::int64_t k,
                                 float* to) const {
  const float* weights = pass.weights + g_.weights + column_offset(k);
  const std::int64_t width = std::min(panel, g_.columns() - k / panel * panel);
  std::array<float, unit * unit> tap;
  for (std::int64_t t = filter_.taps() - 1; t >= 0; --t, to += unit * unit) {
    for (std::int64_t i = 0; i < unit; ++i)
      if (const std::int64_t row = parts_.taps(n + i, width).rows[t]; row < 0)
        std::fill_n(tap.data() + i * unit, unit, 0.f);
      else
        std::copy_n(weights + row * width, unit, tap.data() + i * unit);
    pass.kernels->transpose(tap.data(), unit, unit, unit, to, unit);
  }
}

void MinimalFiltering::transform_flipped(const Pass& pass, float* to, int part, int parts) const {
  to += forward_.weight_floats();
  const std::int64_t depth = back_.depth(), columns = back_.columns();
  const Range units = share(back_.out.units(), part, parts);
  std::array<std::int32_t, filter_taps> in_order;
  std::iota(in_order.begin(), in_order.end(), 0);
  std::array<float, filter_taps * unit * unit> flipped;
  for (std::int64_t n = units.begin * unit; n < units.end * unit; n += unit) {
    const std::int64_t first = n / panel * panel, width = std::min(panel, columns - first);
    for (std::int64_t k = 0; k < depth; k += unit) {
      flip_taps(pass, n, k, flipped.data());
      for (std::int64_t i = 0; i < unit; ++i)
        pass.kernels->filter_weights(
            filter_, flipped.data() + i * unit, {in_order.data(), unit * unit},
            to + first * depth + (k + i) * width + n - first, apart(depth * columns));
    }
  }
}

void MinimalFiltering::fill_frame(const Pass& pass, const Way& way, const float* image,
                                  float* frame) const {
  if (&way == &forward_ && !parts_.trivial()) return parts_.select(pass, image, frame, way.width);
  const std::int64_t lines = std::min(way.in.height, way.height - way.top),
                     columns = std::min(way.in.width, way.width - way.left);
  for (std::int64_t u = 0; u < way.in.units(); ++u)
    for (std::int64_t y = 0; y < lines; ++y)
      std::copy_n(image + u * way.in.plane() + y * way.in.width * unit, columns * unit,
                  frame + ((u * way.height + y + way.top) * way.width + way.left) * unit);
}

void MinimalFiltering::forward(const ConvImages& images, const float* weights,
                               const Memory& memory) const {
  convolve(forward_, images, weights, {g_.bias ? images.pass.weights + *g_.bias : nullptr, g_.relu},
           memory);
}

void MinimalFiltering::backward(const ConvImages& images, const float* weights,
                                const Memory& memory) const {
  convolve(back_, images, weights + forward_.weight_floats(), {}, memory);
}

void MinimalFiltering::convolve(const Way& way, const ConvImages& images, const float* weights,
                                const Finish& finish, const Memory& memory) const {
  const Pass& pass = images.pass;
  auto* frame =
      reinterpret_cast<float*>(memory.kept + (&way == &forward_ ? frame_at_ : gradient_frame_at_));
  auto* inputs = reinterpret_cast<float*>(memory.working + inputs_at_);
  auto* products = reinterpret_cast<float*>(memory.working + products_at_);
  auto* selected = reinterpret_cast<float*>(memory.working + selected_at_);
  const std::int64_t depth = way.depth(), tiles = way.tiles();
  const std::int64_t product_stride = apart(rows_ * way.columns());
  const std::int64_t all = (images.samples.end - images.samples.begin) * tiles;
  std::int64_t framed = -1;
  for (std::int64_t first = 0; first < all; first += rows_) {
    const std::int64_t rows = std::min(rows_, all - first);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t sample = images.samples.begin + (first + r) / tiles;
      if (sample != framed)
        fill_frame(pass, way, pass.at(images.from, framed = sample, images.thread), frame);
      transform_tile(pass, way, (first + r) % tiles, frame, inputs + r * depth);
    }
    Multiply m{};
    m.row_stride = depth, m.rows = rows, m.segments = 1, m.run = way.in.channels;
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
      const std::int64_t tile = (first + r) % tiles;
      float* to = pass.at(images.to, images.samples.begin + (first + r) / tiles, images.thread);
      const float* points = products + r * way.columns();
      if (&way == &forward_ || parts_.trivial()) {
        finish_tile(pass, way, tile, points, finish, {to, way.out.plane(), unit});
        continue;
      }
      finish_tile(pass, way, tile, points, finish, {selected, unit, parts_.position_floats()});
      if (tile == tiles - 1) parts_.collect(pass, selected, to);
    }
  }
}

void MinimalFiltering::transform_tile(const Pass& pass, const Way& way, std::int64_t tile,
                                      const float* frame, float* to) const {
  for (std::int64_t u = 0; u < way.in.units(); ++u)
    pass.kernels->filter_input(
        filter_,
        {frame + way.corner(tile) + u * way.unit_stride, way.line_stride(), way.column_stride},
        to + u * unit, apart(rows_ * way.depth()));
}

void MinimalFiltering::finish_tile(const Pass& pass, const Way& way, std::int64_t tile,
                                   const float* points, const Finish& finish,
                                   const Outputs& to) const {
  const std::int64_t y = way.line(tile), x = way.column(tile);
  for (std::int64_t c = 0; c < way.columns(); c += unit)
    pass.kernels->filter_output(
        filter_, {points + c, apart(rows_ * way.columns()), finish.bias ? finish.bias + c : nullptr,
                  finish.relu,
                  to.first + c / unit * to.unit_stride + (y * way.out.width + x) * to.column_stride,
                  way.out.width * to.column_stride, to.column_stride,
                  std::min(filter_.tile_lines(), way.out.height - y),
                  std::min(filter_.tile, way.out.width - x)});
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
  const std::int64_t columns = forward_.columns();
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t sample = images.samples.begin + (first + r) / forward_.tiles(),
                       t = (first + r) % forward_.tiles();
    if (sample != framed) {
      framed = sample;
      fill_frame(pass, forward_, pass.at(images.from, sample, images.thread), frame);
      fill_frame(pass, back_, pass.at(images.to, sample, images.thread), gradient_frame);
    }
    transform_tile(pass, forward_, t, frame, inputs + r * forward_.depth());
    const float* gradient =
        gradient_frame +
        ((back_.top + forward_.line(t)) * back_.width + back_.left + forward_.column(t)) * unit;
    for (std::int64_t u = 0; u < back_.in.units(); ++u)
      pass.kernels->filter_gradient(filter_, gradient + u * back_.unit_stride, back_.line_stride(),
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
  for (std::int64_t i = 0; i < sums.depth; ++i)
    for (std::int64_t n = 0; n < width; n += unit)
      pass.kernels->filter_weight_gradient(filter_, sums.to + i * width + n, sums.point_stride,
                                           parts_.taps(sums.k + i, width),
                                           slot + sums.column * g_.depth() + n);
}

void MinimalFiltering::add_weights(const ConvImages& images, const SlotPart& part,
                                   const Memory& memory, float* slot) const {
  const Pass& pass = images.pass;
  const std::int64_t depth = forward_.depth(), columns = forward_.columns(),
                     channels = forward_.in.channels;
  const std::int64_t all = (part.samples.end - part.samples.begin) * forward_.tiles();
  auto* kept = reinterpret_cast<float*>(memory.kept + sums_at_);
  auto* chunk = reinterpret_cast<float*>(memory.working + chunk_at_);
  const auto kept_sums = [&](std::int64_t rows, std::int64_t column) {
    return Sums{rows,
                0,
                channels,
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
      for (std::int64_t k = 0; k < channels; k += sum_depth) {
        const Sums sums{rows,
                        k,
                        std::min(sum_depth, channels - k),
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
