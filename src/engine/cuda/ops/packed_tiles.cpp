#include "engine/cuda/ops/packed_tiles.h"

#include <algorithm>

#include "engine/cuda/kernels/tma_product.h"

namespace sweetspot::engine::cuda {
namespace {

constexpr int packed_stage = 64;  // of depth

// Clocks of a multiprocessor, measured on an H200. A stage of 64 of the depth, operands of one
// term:
struct PackedShape {
  int columns;
  double stage_clocks;
};
constexpr PackedShape packed_shapes[] = {{128, 900}, {96, 780}, {64, 600}, {32, 500}};
double end_clocks(int columns) { return 2000 + 18.0 * columns; }
// The factor for several terms.
double times(Math math) { return math == Math::fp32 ? 5.2 : math == Math::tf32 ? 2.4 : 1; }
constexpr double across = 1.25;         // for operands transposed along the depth
constexpr double bytes_a_clock = 2400;  // of the chip
// A cluster that adds its splits.
constexpr double cluster_clocks = 2500, cluster_bytes_a_clock = 25;
constexpr double launch_clocks = 6000;

// With copies by the tensor memory accelerator, a stage of so much of the depth, operands of one
// term or of two:
struct TmaShape {
  int terms, columns, stage_depth;
  double stage_clocks;
  int blocks() const { return tma_blocks(columns, terms, stage_depth); }
  // A block alone on its multiprocessor ends while nothing else runs there.
  double end_clocks() const {
    return blocks() == 1 ? 3000 + 45.0 * columns : terms == 1 ? 2800 : 3500;
  }
};
constexpr TmaShape tma_shapes[] = {
    {1, 256, tma_long, 1030},  {1, 192, tma_long, 850},   {1, 128, tma_long, 690},
    {1, 96, tma_long, 800},    {1, 64, tma_long, 510},    {2, 256, tma_short, 1900},
    {2, 192, tma_short, 1450}, {2, 128, tma_long, 1640},  {2, 96, tma_long, 1600},
    {2, 64, tma_long, 900},    {2, 128, tma_short, 1000}, {2, 96, tma_short, 800},
    {2, 64, tma_short, 600}};

// Stages of a product, if each is filled; the last of a weight gradient need not be.
std::int64_t copied_stages(const PackedSize& size, int stage_depth) {
  const bool filled = size.weights || size.tap_depth % stage_depth == 0;
  return filled ? size.taps * tiles(size.tap_depth, stage_depth) : 0;
}

std::int64_t blocks_of(const PackedSize& size, const PackedTiles& choice) {
  return std::int64_t{choice.tiles_m(size)} * tiles(size.columns, choice.columns) * size.phases;
}

// How a kind of tile runs: the clocks of a stage and of its end, blocks on a multiprocessor, and
// how much longer than its share one takes that is alone there and waits for its loads.
struct TileSpeed {
  double stage_clocks, end_clocks;
  int together = 2;
  double alone = 1.3;
};
double clocks(const Chip& chip, const PackedSize& size, const PackedTiles& choice,
              const TileSpeed& speed) {
  const int stages = choice.tma ? choice.split_depth : tiles(choice.split_depth, packed_stage);
  const double block = stages * speed.stage_clocks + speed.end_clocks;
  const std::int64_t blocks = blocks_of(size, choice) * choice.splits;
  const int together = speed.together;
  const bool clustered = choice.splits > 1 && !size.weights;
  const std::int64_t at_once = clustered_at_once(chip, clustered ? choice.splits : 1, together);
  const std::int64_t rest = blocks % at_once;
  const double last = rest == 0                      ? 0
                      : together == 1                ? 1
                      : rest <= chip.multiprocessors ? speed.alone
                                                     : 2;
  const double all = (together * static_cast<double>(blocks / at_once) + last) * block;
  if (choice.splits == 1) return all;
  if (size.weights)  // which the update adds
    return all +
           choice.splits * 8.0 * static_cast<double>(size.rows * size.columns) / bytes_a_clock;
  return all + cluster_clocks + 4.0 * packed_rows * choice.columns / cluster_bytes_a_clock;
}

// Tiles that take more than one round need no splits, and clusters would leave gaps.
bool fits_clusters(const Chip& chip, const PackedSize& size, const PackedTiles& choice,
                   int together) {
  return clusters(choice.splits) && blocks_of(size, choice) * choice.splits <=
                                        clustered_at_once(chip, choice.splits, together);
}

double packing_clocks(double elements, Math math, double bytes_read) {
  if (elements == 0) return 0;
  return elements * (bytes_read + 2 * packed_terms(math)) / bytes_a_clock + launch_clocks;
}

// The plain forward product stores its tiles slowly, including their padding.
double stored_clocks(const ProductSize& size, const TileChoice& choice) {
  constexpr double floats_a_clock = 180;  // of the chip
  const int rows = tile_rows(choice.tile), columns = tile_columns(choice.tile);
  return static_cast<double>(tiles(size.rows, rows)) * rows * tiles(size.columns, columns) *
         columns / floats_a_clock;
}

// The average number of taps per phase, relative to the largest phase.
double share_of_taps(const ConvShape& s) {
  const GradientPhases phases(s);
  return static_cast<double>(s.taps()) / (phases.count * phases.taps_y * phases.taps_x);
}

}  // namespace

PackedTiles choose_packed_tiles(const Chip& chip, const PackedSize& size, Math math) {
  PackedTiles best;
  // `kind` has the columns and how they are copied. Stages of so much depth, in steps of `step`.
  const auto consider = [&](const PackedTiles& kind, std::int64_t depth, int step, int least,
                            const TileSpeed& speed) {
    const int most = size.weights ? 4 * chip.multiprocessors : most_cluster_blocks;
    for (int wanted = 1; wanted <= most; wanted += wanted < 8 ? 1 : wanted / 8) {
      PackedTiles now = kind;
      now.split_depth = tiles(tiles(depth, wanted), step) * step;
      now.splits = tiles(depth, now.split_depth);
      if (now.splits > 1 && now.split_depth < least) break;
      if (!size.weights && now.splits > 1 && !fits_clusters(chip, size, now, speed.together))
        continue;
      now.clocks = clocks(chip, size, now, speed);
      if (best.clocks == 0 || now.clocks < best.clocks) best = now;
    }
  };
  constexpr int least_depth = 256;  // of a split
  for (const auto& [columns, stage_clocks] : packed_shapes)
    consider({.columns = columns}, size.depth, packed_stage, least_depth,
             {stage_clocks * times(math) * (size.weights ? across : 1), end_clocks(columns)});
  for (const TmaShape& shape : tma_shapes) {
    const std::int64_t stages = copied_stages(size, shape.stage_depth);
    if (shape.terms != packed_terms(math) || stages == 0) continue;
    TileSpeed speed{shape.stage_clocks, shape.end_clocks(), shape.blocks()};
    if (shape.stage_depth == tma_short) speed.alone = 1.75;
    consider({.tma = true, .columns = shape.columns, .stage_depth = shape.stage_depth}, stages, 1,
             least_depth / shape.stage_depth, speed);
  }
  return best;
}

PackedSizes::PackedSizes(const ConvShape& s, std::int64_t count, Math math) {
  const GradientPhases phases(s);
  const bool is_dense = dense(s);
  const std::int64_t positions = count * s.positions();
  forward = {{positions, s.filters, s.depth(), is_dense}};
  data = {{count * phases.height * phases.width, s.channels,
           phases.taps_y * phases.taps_x * s.filters, is_dense, phases.count}};
  weights = {{s.depth(), s.filters, positions, is_dense, 1, true}};
  const auto copy = [&](PackedSize& size, GemmKind kind, std::int64_t rows, std::int64_t taps,
                        std::int64_t tap_depth) {
    if (tma_supports(s, kind, math))
      size.copied_rows = rows, size.taps = taps, size.tap_depth = tap_depth;
  };
  copy(forward, GemmKind::forward, positions, s.taps(), s.channels);
  copy(data, GemmKind::data, data.rows, std::int64_t{phases.taps_y} * phases.taps_x, s.filters);
  copy(weights, GemmKind::weights, std::int64_t{s.taps()} * panels_of_tap(s.channels) * tma_panel,
       1, positions);
}

ConvShape packed_shape(ConvShape shape) {
  shape.channels = tiles(shape.channels, 8) * 8;
  return shape;
}

bool packing_pays(const Chip& chip, const PackingCase& c) {
  if (!chip.warpgroups || c.shape.filters % 8 != 0) return false;
  const ConvShape s = packed_shape(c.shape);
  const PackedSizes sizes(s, c.count, c.math), plain_sizes(c.shape, c.count, c.math);
  // A product of a few microseconds is not worth two more launches, even less if splits of the
  // depth must be added; but others may launch them anyway.
  const ProductSize& forward = plain_sizes.forward;
  constexpr std::int64_t few_rows = 8 * packed_rows;
  const bool packed_anyway = c.input_packed && c.gradient_packed;
  const bool few = forward.rows < few_rows;
  const double enough = c.math == Math::fp32 ? 2e8 : 2.8e8;
  const double little = packed_anyway ? (few ? 5e7 : 2e7) : few ? 1e9 : enough;  // multiplications
  if (static_cast<double>(forward.rows * forward.columns * forward.depth) < little) return false;
  const auto count = static_cast<double>(c.count);
  // Groups of eight that each belong to a different tap are scattered in memory.
  const double scattered = s.channels == 8 && s.taps() > 1 ? 2 : 1;
  const auto packed_clocks = [&](const PackedSize& size) {
    return choose_packed_tiles(chip, size, c.math).clocks;
  };
  const auto plain_clocks = [&](const ProductSize& size) {
    if (c.on_chip)
      return static_cast<double>(size.rows * size.columns * size.depth) / on_chip_rate(chip) /
             chip.multiprocessors;
    const TileChoice choice =
        size.weights ? choose_weight_tiles(chip, size, c.math) : choose_tiles(chip, size, c.math);
    // Of few rounds of large tiles: 9 to 18 µs were measured where one or two were expected.
    constexpr double slow_start = 8000;
    const bool slow = packed_anyway && !size.weights && choice.tile != TileKind::small;
    return expected_clocks(chip, size, choice, c.math) + (slow ? slow_start : 0);
  };
  double packed = packing_clocks(
      (c.input_packed ? 0 : count * s.in_floats()) + (c.kernel_packed ? 0 : s.depth() * s.filters),
      c.math, 4);
  double plain = 0;
  if (!c.few_channels) {
    packed += scattered * packed_clocks(sizes.forward);
    plain += plain_clocks(forward) +
             stored_clocks(forward, choose_tiles(chip, forward, c.math)) / (s.pool * s.pool);
  }
  if (c.training) {
    packed += packed_clocks(sizes.weights) +
              packing_clocks(c.gradient_packed ? 0 : count * s.positions() * s.filters, c.math, 5);
    plain += plain_clocks(plain_sizes.weights);
    if (c.wants_input_gradient) {
      packed +=
          share_of_taps(s) * packed_clocks(sizes.data) + (c.gradient_packed ? 0 : launch_clocks);
      plain += share_of_taps(s) * plain_clocks(plain_sizes.data);
    }
  }
  constexpr double margin = 1.1;
  return packed * margin < plain;
}

}  // namespace sweetspot::engine::cuda
