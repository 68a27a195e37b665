#include "engine/cuda/ops/tiles.h"

#include <algorithm>

namespace sweetspot::engine::cuda {
namespace {

// Throughput of a multiprocessor's multiplications, relative to the large tile: measured on an
// H200.
struct Shape {
  TileKind kind;
  int rows, columns;
  double speed;
};
constexpr Shape shapes[] = {{TileKind::large, 128, 128, 1.0},
                            {TileKind::wide, 128, 64, 0.83},
                            {TileKind::tall, 256, 32, 0.5},
                            {TileKind::small, 32, 32, 0.35}};
const Shape& shape_of(TileKind tile) { return *std::ranges::find(shapes, tile, &Shape::kind); }

constexpr int stage = 32, small_stage = 128;  // of depth; the small tile's are long
int stage_of(const Shape& shape) { return shape.kind == TileKind::small ? small_stage : stage; }
constexpr double unit = 128 * 128 * stage;  // multiplications of a stage of the large tile

std::int64_t blocks_of(const ProductSize& size, const Shape& shape) {
  return std::int64_t{tiles(size.rows, shape.rows)} * tiles(size.columns, shape.columns) *
         size.phases;
}
double multiplications(const ProductSize& size) {
  return static_cast<double>(size.rows * size.columns * size.depth) * size.phases;
}

// In fp32 small tiles are not as far behind.
double speed_of(const Shape& shape, Math math) {
  return math == Math::fp32 && shape.kind == TileKind::small ? 2 * shape.speed : shape.speed;
}

// The cost of the product, in multiplications.
double cost(const Chip& chip, const ProductSize& size, const Shape& shape, int splits, Math math) {
  const std::int64_t blocks = blocks_of(size, shape) * splits;
  const auto rounds =
      static_cast<double>((blocks + chip.multiprocessors - 1) / chip.multiprocessors);
  const int step = stage_of(shape);
  const double outputs = shape.rows * shape.columns;
  const double depth = static_cast<double>(tiles(tiles(size.depth, splits), step)) * step;
  // A block alone on its multiprocessor waits for its loads.
  const double alone = rounds < 2 ? 1.4 : 1.0;
  const double ends = 0.75 * (stage * outputs + unit);  // start-up and stores
  return rounds * (outputs * depth / speed_of(shape, math) * alone + ends);
}

bool possible(const ProductSize& size, const Shape& shape) {
  return shape.kind != TileKind::tall || (!size.dense && !size.weights);
}

template <class Overhead>
TileChoice cheapest(const Chip& chip, const ProductSize& size, int most_splits, Math math,
                    Overhead overhead) {
  TileChoice best;
  double least = 0;
  const auto consider = [&](const Shape& shape, Math speeds) {
    if (!possible(size, shape)) return;
    const int step = stage_of(shape);
    for (int wanted = 1; wanted <= most_splits; wanted += wanted < 8 ? 1 : wanted / 8) {
      const int depth = tiles(tiles(size.depth, wanted), step) * step;
      const int splits = tiles(size.depth, depth);
      // More blocks than run at once only add partial sums.
      if (splits > 1 && (!overhead.allows(shape, depth) ||
                         blocks_of(size, shape) * splits > overhead.rounds * chip.multiprocessors))
        break;
      const double now = cost(chip, size, shape, splits, speeds) + overhead(shape, splits);
      if (least != 0 && now >= least) continue;
      least = now;
      best = {shape.kind, splits, depth};
    }
  };
  for (const Shape& shape : shapes) consider(shape, math);
  // Few blocks wait for their loads, in every precision: fp32 needs as many splits as the others.
  least = 0;
  consider(shape_of(best.tile), Math::tf32);
  return best;
}

// The last of a tile's blocks reads what all have written.
struct GatheredByTheLast {
  static constexpr int rounds = 2;  // of blocks, at most
  bool allows(const Shape& shape, int depth) const {
    return shape.kind == TileKind::small ? depth >= small_stage
                                         : shape.kind == TileKind::large && depth >= 4 * stage;
  }
  double operator()(const Shape& shape, int splits) const {
    return splits > 1 ? 8.0 * stage * splits * shape.rows * shape.columns : 0;
  }
};
// The update reads them all, with the whole chip.
struct GatheredByTheUpdate {
  static constexpr int rounds = 8;
  double floats;  // of the gradient
  bool allows(const Shape& shape, int depth) const {
    return depth >= (shape.kind == TileKind::small ? small_stage : 4 * stage);
  }
  double operator()(const Shape&, int splits) const { return 2.0 * splits * floats; }
};

// A small dense layer: its two gradients share a launch, while large tiles need their own. If wide
// tiles do not fill the chip, small ones do.
bool shares_a_launch(const Chip& chip, const ProductSize& size) {
  constexpr double little = 8 * unit;  // per multiprocessor
  return size.dense && multiplications(size) < little * chip.multiprocessors;
}

}  // namespace

int enough_blocks(const Chip& chip) { return chip.multiprocessors * 5 / 11; }

int tile_rows(TileKind tile) { return shape_of(tile).rows; }
int tile_columns(TileKind tile) { return shape_of(tile).columns; }

TileChoice::Scratch TileChoice::scratch(const ProductSize& size) const {
  if (splits == 1) return {};
  const int count =
      size.phases * tiles(size.rows, tile_rows(tile)) * tiles(size.columns, tile_columns(tile));
  return {static_cast<core::Bytes>(count) * static_cast<core::Bytes>(splits) *
              static_cast<core::Bytes>(tile_rows(tile) * tile_columns(tile)) * sizeof(float),
          count};
}

TileChoice choose_tiles(const Chip& chip, const ProductSize& size, Math math) {
  if (shares_a_launch(chip, size)) {
    // For few columns, small tiles waste less than half of a wide one.
    const bool narrow = size.columns <= shape_of(TileKind::small).columns;
    // In fp32 a wide tile takes so long that the whole chip must share them.
    const int enough = math == Math::fp32 ? 2 * chip.multiprocessors : enough_blocks(chip);
    if (!narrow && blocks_of(size, shape_of(TileKind::wide)) >= enough)
      return {TileKind::wide, 1, 1};
    const std::int64_t small = blocks_of(size, shape_of(TileKind::small));
    const auto splits = static_cast<int>(std::clamp<std::int64_t>(
        chip.multiprocessors / small, 1, std::max<std::int64_t>(1, size.depth / small_stage)));
    const int depth = tiles(tiles(size.depth, splits), small_stage) * small_stage;
    return {TileKind::small, tiles(size.depth, depth), depth};
  }
  constexpr int most_splits = 32;
  return cheapest(chip, size, most_splits, math, GatheredByTheLast{});
}

double expected_clocks(const Chip& chip, const ProductSize& size, const TileChoice& choice,
                       Math math) {
  // Multiplications of a multiprocessor per clock, with the large tile.
  const double rate = math == Math::fp32 ? 80 : math == Math::tf32 ? 245 : 360;
  const double floats = static_cast<double>(size.rows * size.columns);
  const Shape& shape = shape_of(choice.tile);
  const double added = size.weights ? GatheredByTheUpdate{floats}(shape, choice.splits)
                                    : GatheredByTheLast{}(shape, choice.splits);
  return (cost(chip, size, shape, choice.splits, math) + added) / rate;
}

TileChoice choose_weight_tiles(const Chip& chip, const ProductSize& size, Math math) {
  if (!shares_a_launch(chip, size))
    return cheapest(chip, size, 2 * chip.multiprocessors, math,
                    GatheredByTheUpdate{static_cast<double>(size.rows * size.columns)});
  // Each split does at least four stages, or one of the small tile's long ones, so that writing and
  // adding its partial sum stays cheap compared with computing it.
  const auto choose = [&](TileKind tile, int depth_stage, int stages) {
    const std::int64_t most = std::max<std::int64_t>(1, size.depth / (depth_stage * stages));
    const auto splits = static_cast<int>(std::clamp<std::int64_t>(
        2 * chip.multiprocessors / blocks_of(size, shape_of(tile)), 1, most));
    return TileChoice{tile, splits, tiles(tiles(size.depth, splits), depth_stage) * depth_stage};
  };
  const TileChoice wide = choose(TileKind::wide, stage, 4);
  return blocks_of(size, shape_of(TileKind::wide)) * wide.splits >= enough_blocks(chip)
             ? wide
             : choose(TileKind::small, small_stage, 1);
}

}  // namespace sweetspot::engine::cuda
