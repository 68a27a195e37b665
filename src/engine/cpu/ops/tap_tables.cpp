#include "engine/cpu/ops/tap_tables.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/cpu/ops/tiles.h"

namespace sweetspot::engine::cpu {
namespace {

// Of a chunk: 24 KiB, and a multiple of the positions of a group.
constexpr std::int64_t sum_tiles = 24;
constexpr std::int64_t group_positions = 4;

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

class Tables {
 public:
  Tables(const ConvGeometry& g, std::int64_t place_floats, TapTables& to)
      : g_(g), place_floats_(place_floats), to_(to) {}

  // Rows of windows, or parts of one.
  void forward() {
    const std::int64_t down = g_.out.height / g_.pool.height, across = g_.out.width / g_.pool.width,
                       slots = g_.slots();
    to_.forward.step = g_.strides.width * tile_size;
    const std::int64_t rows = std::max<std::int64_t>(1, sum_tiles / (across * slots)),
                       columns = std::clamp<std::int64_t>(sum_tiles / slots, 1, across);
    for (std::int64_t row = 0; row < down; row += rows)
      for (std::int64_t column = 0; column < across; column += columns)
        add_chunk(row, std::min(row + rows, down), column, std::min(column + columns, across));
  }

  // Places of the same phase of the stride meet the same taps.
  void input_gradient() {
    to_.input_gradient.step = -g_.strides.width * tile_size;
    for (std::int64_t py = 0; py < g_.strides.height; ++py)
      for (std::int64_t px = 0; px < g_.strides.width; ++px)
        for (std::int64_t y = py; y < g_.in.height; y += g_.strides.height)
          for (std::int64_t x = px; x < g_.in.width; x += group_positions * g_.strides.width)
            add_places(y, x);
  }

  void weight_gradient() {
    to_.pairs_of_row = pieces(g_.out.width, 2);
    for (std::int64_t y = 0; y < g_.out.height; ++y)
      for (std::int64_t x = 0; x < g_.out.width; x += 2)
        to_.output_pairs.push_back(
            {narrow(output(y, x)), x + 1 < g_.out.width ? narrow(output(y, x + 1)) : -1});
    // Taps that are a stride apart read the same rows for neighbouring outputs, those that are two
    // apart the same places for neighbouring pairs of them.
    const std::int64_t down = g_.strides.height, across = 2 * g_.strides.width;
    for (std::int64_t ky = 0; ky < g_.kernel.height; ++ky)
      for (std::int64_t kx = 0; kx < g_.kernel.width; ++kx)
        if (ky / down % 2 == 0 && kx / across % 2 == 0)
          add_taps(ky, kx, ky + down < g_.kernel.height ? 2 : 1,
                   kx + across < g_.kernel.width ? 2 : 1);
    sort_place_pairs();
  }

 private:
  // In their order.
  std::int64_t output(std::int64_t y, std::int64_t x) const {
    const std::int64_t window =
        y / g_.pool.height * (g_.out.width / g_.pool.width) + x / g_.pool.width;
    return window * g_.slots() + y % g_.pool.height * g_.pool.width + x % g_.pool.width;
  }

  void begin_group(TapTables::Products& products) {
    products.groups.push_back({narrow(std::ssize(products.lines)), 0, {-1, -1, -1, -1}});
  }
  // A line of `taps`, of which tile(j) is column j, or negative: padding.
  template <class Tile>
  void add_line(TapTables::Products& products, std::int64_t taps, std::int64_t positions,
                std::int64_t first_tap, Tile tile) {
    const std::int64_t columns = taps + positions - 1;
    TapLine line{narrow(std::ssize(products.columns)), narrow(first_tap * tile_size), narrow(taps),
                 narrow(columns), 0};
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t at = tile(j);
      products.columns.push_back(narrow(at * tile_size));
      if (at < 0) continue;
      line.begin = std::min(line.begin, narrow(j)), line.end = narrow(j + 1);
    }
    if (taps <= 0 || line.end == 0) return;
    products.lines.push_back(line);
    ++products.groups.back().lines;
  }

  void add_chunk(std::int64_t row, std::int64_t last_row, std::int64_t column,
                 std::int64_t last_column) {
    TapTables::Products& products = to_.forward;
    const std::int64_t first = output(row * g_.pool.height, column * g_.pool.width);
    TapTables::Chunk chunk{first / g_.slots(), (last_row - row) * (last_column - column),
                           std::ssize(products.groups), 0};
    // Down the rows first: most of the tiles that a group reads, the next one reads too.
    for (std::int64_t x = column * g_.pool.width, end = last_column * g_.pool.width; x < end;
         x += group_positions)
      for (std::int64_t y = row * g_.pool.height; y < last_row * g_.pool.height; ++y)
        add_outputs(y, x, std::min(end - x, group_positions), first);
    chunk.groups = std::ssize(products.groups) - chunk.first_group;
    to_.most_sums = std::max(to_.most_sums, chunk.windows * g_.slots());
    to_.chunks.push_back(chunk);
  }

  // Taps whose distance is a multiple of the stride are a line.
  void add_outputs(std::int64_t y, std::int64_t x, std::int64_t count, std::int64_t first) {
    TapTables::Products& products = to_.forward;
    begin_group(products);
    for (std::int64_t i = 0; i < count; ++i)
      products.groups.back().c[i] = narrow((output(y, x + i) - first) * tile_floats);
    const std::int64_t stride = g_.strides.width;
    for (std::int64_t ky = 0; ky < g_.kernel.height; ++ky)
      for (std::int64_t kx = 0; kx < std::min(stride, g_.kernel.width); ++kx)
        add_line(products, pieces(g_.kernel.width - kx, stride), count, ky * g_.kernel.width + kx,
                 [&](std::int64_t j) { return place(y, ky, (x + j) * stride + kx - g_.pad_left); });
  }
  // What a row of the kernel reads for a row of outputs; negative: padding.
  std::int64_t place(std::int64_t out_row, std::int64_t ky, std::int64_t column) const {
    const std::int64_t row = out_row * g_.strides.height + ky - g_.pad_top;
    const bool inside = row >= 0 && row < g_.in.height && column >= 0 && column < g_.in.width;
    return inside ? row * g_.in.width + column : -1;
  }

  // Column j of a line is the output that the last place reads with tap j, counted from the last.
  void add_places(std::int64_t y, std::int64_t x) {
    TapTables::Products& products = to_.input_gradient;
    begin_group(products);
    const std::int64_t stride = g_.strides.width, kx = (x + g_.pad_left) % stride,
                       count = std::min(pieces(g_.in.width - x, stride), group_positions);
    for (std::int64_t i = 0; i < count; ++i)
      products.groups.back().c[i] = narrow((y * g_.in.width + x + i * stride) * place_floats_);
    const std::int64_t taps = kx < g_.kernel.width ? pieces(g_.kernel.width - kx, stride) : 0,
                       first = (x + g_.pad_left) / stride - (taps - 1);
    for (std::int64_t ky = 0; ky < g_.kernel.height && taps > 0; ++ky) {
      const std::int64_t down = y + g_.pad_top - ky, row = down / g_.strides.height;
      if (down < 0 || down % g_.strides.height != 0 || row >= g_.out.height) continue;
      add_line(products, taps, count, ky * g_.kernel.width + kx + (taps - 1) * stride,
               [&](std::int64_t j) {
                 const std::int64_t column = first + j;
                 return column >= 0 && column < g_.out.width ? output(row, column) : -1;
               });
    }
  }

  // Taps from (ky, kx) on. A line is what the first row of them reads for a row of outputs, and the
  // second one for the row before.
  void add_taps(std::int64_t ky, std::int64_t kx, std::int64_t down, std::int64_t across) {
    TapTables::Taps taps{ky * g_.kernel.width + kx, static_cast<int>(down),
                         static_cast<int>(across), std::ssize(to_.pair_lines), 0};
    const std::int64_t stride = g_.strides.width;
    const auto outputs = [&](std::int64_t y) {
      return narrow(y >= 0 && y < g_.out.height ? y * to_.pairs_of_row * tile_size : -1);
    };
    for (std::int64_t y = 0; y < g_.out.height + down - 1; ++y) {
      const std::int64_t row = y * g_.strides.height + ky - g_.pad_top;
      if (row < 0 || row >= g_.in.height) continue;
      to_.pair_lines.push_back(
          {narrow(std::ssize(to_.pair_places)), {outputs(y), down > 1 ? outputs(y - 1) : -1}});
      for (std::int64_t pair = 0; pair < to_.pairs_of_row + across - 1; ++pair) {
        const std::int64_t column = 2 * pair * stride + kx - g_.pad_left;
        to_.pair_places.push_back(
            pair_of_places(place(y, ky, column), place(y, ky, column + stride)));
      }
    }
    taps.lines = std::ssize(to_.pair_lines) - taps.first_line;
    to_.taps.push_back(taps);
  }
  // Its number in the order of their discovery, until they are sorted; negative: none.
  std::int32_t pair_of_places(std::int64_t first, std::int64_t second) {
    if (first < 0 && second < 0) return -1;
    return narrow(found_.try_emplace({first, second}, std::ssize(found_)).first->second);
  }

  // So that pairs which share a place follow one another.
  void sort_place_pairs() {
    std::vector<std::int32_t> sorted(found_.size());
    for (const auto& [pair, index] : found_) {
      sorted[static_cast<std::size_t>(index)] = narrow(std::ssize(to_.place_pairs) * tile_size);
      to_.place_pairs.push_back({narrow(pair.first), narrow(pair.second)});
    }
    for (std::int32_t& place : to_.pair_places)
      if (place >= 0) place = sorted[static_cast<std::size_t>(place)];
  }

  const ConvGeometry& g_;
  std::int64_t place_floats_;
  TapTables& to_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> found_;
};

}  // namespace

TapTables tap_tables(const ConvGeometry& geometry, std::int64_t place_floats) {
  TapTables to;
  Tables tables(geometry, place_floats, to);
  tables.forward();
  tables.input_gradient();
  tables.weight_gradient();
  return to;
}

}  // namespace sweetspot::engine::cpu
