#include "engine/cuda/ops/packed_tiles.h"

#include <algorithm>

namespace sweetspot::engine::cuda {
namespace {

constexpr int rows = 128, stage = 64;

// Clocks of a multiprocessor, found on an H200. A stage of 64 of the depth, operands of one term:
struct Shape {
  int columns;
  double stage_clocks;
};
constexpr Shape shapes[] = {{128, 1050}, {96, 900}, {64, 750}, {32, 600}};
double end_clocks(const Shape& shape) { return 2000 + 25.0 * shape.columns; }
// What several terms make of it.
double times(Math math) { return math == Math::fp32 ? 4.5 : math == Math::tf32 ? 2.2 : 1; }
constexpr double bytes_a_clock = 2400;         // of the chip
constexpr double gathered_bytes_a_clock = 40;  // of a block that adds up splits
constexpr double launch_clocks = 3000;

std::int64_t blocks_of(const ProductSize& size, int columns) {
  return std::int64_t{tiles(size.rows, rows)} * tiles(size.columns, columns) * size.phases;
}

double clocks(const Chip& chip, const ProductSize& size, Math math, const Shape& shape,
              const PackedTiles& choice) {
  const double block =
      tiles(choice.split_depth, stage) * shape.stage_clocks * times(math) + end_clocks(shape);
  const std::int64_t blocks = blocks_of(size, shape.columns) * choice.splits;
  const std::int64_t at_once = 2 * chip.multiprocessors, rest = blocks % at_once;
  // A block alone on its multiprocessor waits for what it loads.
  constexpr double alone = 1.3;
  const double last = rest == 0 ? 0 : rest <= chip.multiprocessors ? alone : 2;
  const double all = (2 * static_cast<double>(blocks / at_once) + last) * block;
  if (choice.splits == 1) return all;
  if (size.weights)  // which the update adds up
    return all +
           choice.splits * 8.0 * static_cast<double>(size.rows * size.columns) / bytes_a_clock;
  return all + (choice.splits + 1) * 4.0 * rows * shape.columns / gathered_bytes_a_clock;
}

double packing_clocks(double elements, Math math, double bytes_read) {
  return elements * (bytes_read + 2 * packed_terms(math)) / bytes_a_clock;
}

}  // namespace

TileChoice::Scratch PackedTiles::scratch(const ProductSize& size) const {
  if (splits == 1) return {};
  const auto tiles = static_cast<int>(blocks_of(size, columns));
  return {static_cast<core::Bytes>(tiles) * static_cast<core::Bytes>(splits * rows * columns) *
              sizeof(float),
          tiles};
}

PackedTiles choose_packed_tiles(const Chip& chip, const ProductSize& size, Math math) {
  PackedTiles best;
  for (const Shape& shape : shapes) {
    const int most = size.weights ? 4 * chip.multiprocessors : 16;
    for (int wanted = 1; wanted <= most; wanted += wanted < 8 ? 1 : wanted / 8) {
      PackedTiles now{shape.columns};
      now.split_depth = tiles(tiles(size.depth, wanted), stage) * stage;
      now.splits = tiles(size.depth, now.split_depth);
      if (now.splits > 1 && now.split_depth < 4 * stage) break;
      now.clocks = clocks(chip, size, math, shape, now);
      if (best.clocks == 0 || now.clocks < best.clocks) best = now;
    }
  }
  return best;
}

PackedSizes::PackedSizes(const ConvShape& s, std::int64_t count) {
  const GradientPhases phases(s);
  const bool is_dense = dense(s);
  forward = {count * s.positions(), s.filters, s.depth(), is_dense};
  data = {count * phases.height * phases.width, s.channels,
          phases.taps_y * phases.taps_x * s.filters, is_dense, phases.count};
  weights = {s.depth(), s.filters, count * s.positions(), is_dense, 1, true};
}

ConvShape packed_shape(ConvShape shape) {
  shape.channels = tiles(shape.channels, 8) * 8;
  return shape;
}

bool packing_pays(const Chip& chip, const ConvShape& shape, std::int64_t count, bool training,
                  Math math) {
  if (!chip.warpgroups || shape.filters % 8 != 0) return false;
  const ConvShape s = packed_shape(shape);
  const PackedSizes sizes(s, count), plain_sizes(shape, count);
  const double inputs = static_cast<double>(count) * s.in_floats();
  const double gradients = static_cast<double>(count) * s.positions() * s.filters;
  double packed = choose_packed_tiles(chip, sizes.forward, math).clocks +
                  packing_clocks(inputs + s.depth() * s.filters, math, 4) + launch_clocks;
  double plain =
      expected_clocks(chip, plain_sizes.forward, choose_tiles(chip, plain_sizes.forward), math);
  if (training) {
    packed += choose_packed_tiles(chip, sizes.data, math).clocks +
              choose_packed_tiles(chip, sizes.weights, math).clocks +
              packing_clocks(gradients, math, 5) + 2 * launch_clocks;
    plain += expected_clocks(chip, plain_sizes.data, choose_tiles(chip, plain_sizes.data), math) +
             expected_clocks(chip, plain_sizes.weights,
                             choose_weight_tiles(chip, plain_sizes.weights), math);
  }
  constexpr double margin = 1.1;
  return packed * margin < plain;
}

}  // namespace sweetspot::engine::cuda
