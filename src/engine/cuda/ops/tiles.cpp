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
                            {TileKind::middle, 64, 64, 0.75},
                            {TileKind::small, 32, 32, 0.35}};
const Shape& shape_of(TileKind tile) { return *std::ranges::find(shapes, tile, &Shape::kind); }

constexpr int stage = 32, small_stage = 128;  // of depth; the small tile's are long
int stage_of(const Shape& shape) {
  return shape.kind == TileKind::small    ? small_stage
         : shape.kind == TileKind::middle ? 2 * stage
                                          : stage;
}
constexpr double unit = 128 * 128 * stage;  // multiplications of a stage of the large tile

std::int64_t blocks_of(const ProductSize& size, const Shape& shape) {
  return std::int64_t{tiles(size.rows, shape.rows)} * tiles(size.columns, shape.columns) *
         size.phases;
}
double multiplications(const ProductSize& size) {
  return static_cast<double>(size.rows * size.columns * size.depth) * size.phases;
}

// In fp32 small tiles are not as far behind.
double speed_of(const Chip& chip, const Shape& shape, Math math) {
  if (math != Math::fp32 || shape.kind != TileKind::small) return shape.speed;
  return (multiplies_plainly(chip, math) ? 2 : 1.5) * shape.speed;
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
  return rounds * (outputs * depth / speed_of(chip, shape, math) * alone + ends);
}

bool possible(const ProductSize& size, const Shape& shape) {
  if (shape.kind == TileKind::tall) return !size.dense && !size.weights;
  return shape.kind != TileKind::middle || !size.weights;
}

template <class... Gathering>
TileChoice cheapest(const Chip& chip, const ProductSize& size, int most_splits, Math math,
                    const Gathering&... ways) {
  TileChoice best;
  double least = 0;
  const auto consider = [&](const Shape& shape, Math speeds, const auto& way) {
    if (!possible(size, shape)) return;
    const int step = stage_of(shape);
    for (int wanted = 1; wanted <= most_splits; wanted += wanted < 8 ? 1 : wanted / 8) {
      const int depth = tiles(tiles(size.depth, wanted), step) * step;
      const int splits = tiles(size.depth, depth);
      if (splits > 1 && !way.allows(shape, splits, depth)) continue;
      // More blocks than run at once only add partial sums.
      if (splits > 1 && blocks_of(size, shape) * splits > way.most_blocks(splits)) break;
      const double now = cost(chip, size, shape, splits, speeds) + way(shape, splits);
      if (least != 0 && now >= least) continue;
      least = now;
      best = {shape.kind, splits, depth, splits > 1 && way.clustered};
    }
  };
  for (const Shape& shape : shapes) (consider(shape, math, ways), ...);
  // Few blocks wait for their loads, in every precision: fp32 needs as many splits as the others.
  least = 0;
  const Shape& chosen = shape_of(best.tile);
  (consider(chosen, Math::tf32, ways), ...);
  return best;
}

// The blocks of a cluster add their splits. Clusters start when all of their blocks fit: only
// one round of them comes in time.
struct GatheredByClusters {
  static constexpr bool clustered = true;
  Chip chip;
  std::int64_t most_blocks(int splits) const { return clustered_at_once(chip, splits, 1); }
  bool allows(const Shape& shape, int splits, int depth) const {
    return chip.warpgroups && shape.kind == TileKind::small && clusters(splits) &&
           depth >= small_stage;
  }
  double operator()(const Shape&, int splits) const {
    return splits > 1 ? (0.5 + 0.03 * splits) * unit : 0;
  }
};
// The last of a tile's blocks reads what all have written.
struct GatheredByTheLast {
  static constexpr bool clustered = false;
  Chip chip;
  std::int64_t most_blocks(int) const { return 2 * chip.multiprocessors; }
  bool allows(const Shape& shape, int, int depth) const {
    return shape.kind == TileKind::small ? depth >= small_stage
                                         : shape.kind == TileKind::large && depth >= 4 * stage;
  }
  double operator()(const Shape& shape, int splits) const {
    return splits > 1 ? 8.0 * stage * splits * shape.rows * shape.columns : 0;
  }
};
// The update reads them all, with the whole chip.
struct GatheredByTheUpdate {
  static constexpr bool clustered = false;
  Chip chip;
  double floats;  // of the gradient
  std::int64_t most_blocks(int) const { return 8 * chip.multiprocessors; }
  bool allows(const Shape& shape, int, int depth) const {
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
bool wide_tiles_fill(const Chip& chip, std::int64_t rows, std::int64_t columns) {
  const Shape& wide = shape_of(TileKind::wide);
  return 2 * rows > wide.rows && 2 * columns > wide.columns &&
         blocks_of({rows, columns, 1}, wide) >= enough_blocks(chip);
}

bool clusters(int splits) { return splits <= most_cluster_blocks && splits != 5 && splits != 7; }
int clustered_at_once(const Chip& chip, int cluster, int together) {
  const int usable = cluster > 2 ? chip.multiprocessors * 10 / 11 : chip.multiprocessors;
  return usable * together / cluster * cluster;
}

int tile_rows(TileKind tile) { return shape_of(tile).rows; }
int tile_columns(TileKind tile) { return shape_of(tile).columns; }

TileChoice::Scratch TileChoice::scratch(const ProductSize& size) const {
  if (splits == 1 || clustered) return {};
  const int count =
      size.phases * tiles(size.rows, tile_rows(tile)) * tiles(size.columns, tile_columns(tile));
  return {static_cast<core::Bytes>(count) * static_cast<core::Bytes>(splits) *
              static_cast<core::Bytes>(tile_rows(tile) * tile_columns(tile)) * sizeof(float),
          count};
}

TileChoice choose_tiles(const Chip& chip, const ProductSize& size, Math math) {
  if (shares_a_launch(chip, size)) {
    // A wide tile of plain floats takes so long that the whole chip must share them.
    const bool slow = multiplies_plainly(chip, math) &&
                      blocks_of(size, shape_of(TileKind::wide)) < 2 * chip.multiprocessors;
    if (!slow && wide_tiles_fill(chip, size.rows, size.columns)) return {TileKind::wide, 1, 1};
    const Shape& small = shape_of(TileKind::small);
    const std::int64_t most = std::max<std::int64_t>(1, size.depth / small_stage);
    // A cluster is so much faster to add splits that each may have a few stages.
    const bool clustered = chip.warpgroups && most <= 4 * most_cluster_blocks;
    const auto wanted = static_cast<int>(std::clamp<std::int64_t>(
        chip.multiprocessors / blocks_of(size, small), 1,
        clustered ? std::min<std::int64_t>(most, most_cluster_blocks) : most));
    const int depth = tiles(tiles(size.depth, wanted), small_stage) * small_stage;
    const int splits = tiles(size.depth, depth);
    return {TileKind::small, splits, depth, splits > 1 && clustered};
  }
  constexpr int most_splits = 32;
  return cheapest(chip, size, most_splits, math, GatheredByClusters{chip}, GatheredByTheLast{chip});
}

double expected_clocks(const Chip& chip, const ProductSize& size, const TileChoice& choice,
                       Math math) {
  // Multiplications of a multiprocessor per clock, with the large tile.
  const double rate = multiplies_plainly(chip, math) ? 80
                      : math == Math::fp32           ? 110
                      : math == Math::tf32           ? 245
                                                     : 360;
  const double floats = static_cast<double>(size.rows * size.columns);
  const Shape& shape = shape_of(choice.tile);
  const double added = size.weights       ? GatheredByTheUpdate{chip, floats}(shape, choice.splits)
                       : choice.clustered ? GatheredByClusters{chip}(shape, choice.splits)
                                          : GatheredByTheLast{chip}(shape, choice.splits);
  return (cost(chip, size, shape, choice.splits, math) + added) / rate;
}

TileChoice choose_weight_tiles(const Chip& chip, const ProductSize& size, Math math) {
  if (!shares_a_launch(chip, size))
    return cheapest(chip, size, 2 * chip.multiprocessors, math,
                    GatheredByTheUpdate{chip, static_cast<double>(size.rows * size.columns)});
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
