#ifdef SWEETSPOT_HAS_CUDA
#include <gtest/gtest.h>

#include "engine/cuda/kernels/few_samples.h"
#include "engine/cuda/kernels/tma_product.h"
#include "engine/cuda/ops/packed_tiles.h"

// How products are divided into tiles and splits of their depth, which needs no GPU.
namespace sweetspot::engine::cuda {
namespace {

constexpr std::int64_t row_counts[] = {1, 17, 64, 300, 1024, 5000, 20000, 131072};
constexpr std::int64_t column_counts[] = {8, 32, 96, 192, 512, 2048};
constexpr std::int64_t depths[] = {27, 130, 576, 1728, 4608, 20000};

template <class Check>
void each_size(Check check) {
  for (const std::int64_t rows : row_counts)
    for (const std::int64_t columns : column_counts)
      for (const std::int64_t depth : depths)
        check(ProductSize{.rows = rows, .columns = columns, .depth = depth});
}

TEST(CudaTiles, SplitsOfATileAreClustersThatAllRunAtOnce) {
  const Chip chip;
  int clustered = 0;
  each_size([&](const ProductSize& size) {
    const auto choice = choose_tiles(chip, size, Math::bf16);
    EXPECT_GE(std::int64_t{choice.splits} * choice.split_depth, size.depth);
    if (!choice.clustered) return;
    ++clustered;
    const int count =
        tiles(size.rows, tile_rows(choice.tile)) * tiles(size.columns, tile_columns(choice.tile));
    EXPECT_TRUE(clusters(choice.splits)) << choice.splits;
    EXPECT_LE(count * choice.splits, clustered_at_once(chip, choice.splits, 1));
    EXPECT_EQ(choice.scratch(size).bytes, 0u);
  });
  EXPECT_GT(clustered, 20);
}

TEST(CudaTiles, AChipWithoutClustersAddsSplitsInMemory) {
  Chip chip;
  chip.warpgroups = chip.programmatic = false;
  int split = 0;
  each_size([&](const ProductSize& size) {
    const auto choice = choose_tiles(chip, size, Math::bf16);
    EXPECT_FALSE(choice.clustered);
    if (choice.splits == 1) return;
    ++split;
    EXPECT_GT(choice.scratch(size).bytes, 0u);
  });
  EXPECT_GT(split, 20);
}

TEST(CudaTiles, FloatsTakeLessWhereTheTensorCoresMultiplyTheirTerms) {
  const Chip hopper;
  Chip other;
  other.warpgroups = other.programmatic = false;
  each_size([&](const ProductSize& size) {
    for (const TileKind tile : {TileKind::small, TileKind::wide, TileKind::large}) {
      const TileChoice choice{.tile = tile};
      EXPECT_LT(expected_clocks(hopper, size, choice, Math::fp32),
                expected_clocks(other, size, choice, Math::fp32));
      EXPECT_EQ(expected_clocks(hopper, size, choice, Math::tf32),
                expected_clocks(other, size, choice, Math::tf32));
    }
  });
  EXPECT_GT(on_chip_rate(hopper), on_chip_rate(other));
  // 64 wide tiles are enough for the chip only if each is fast.
  const ProductSize dense{.rows = 1024, .columns = 512, .depth = 512, .dense = true};
  EXPECT_EQ(choose_tiles(hopper, dense, Math::fp32).tile, TileKind::wide);
  EXPECT_EQ(choose_tiles(other, dense, Math::fp32).tile, TileKind::small);
}

// Both directions of wide dense layers. Wide tiles of 32 rows, three quarters of them padding, took
// longer than small ones of 64.
TEST(CudaTiles, OfFewRowsAreMoreThanHalfFullAndTakeNoLongerThanOfMore) {
  const Chip hopper;
  Chip other;
  other.warpgroups = other.programmatic = false;
  struct Layer {
    std::int64_t inputs, outputs;
  };
  for (const Chip& chip : {hopper, other})
    for (const Math math : {Math::fp32, Math::tf32, Math::bf16, Math::fp16})
      for (const auto& [depth, columns] : {Layer{784, 4096},
                                           {4096, 4096},
                                           {2048, 1000},
                                           {1000, 2048},
                                           {1024, 8192},
                                           {8192, 1024}}) {
        double fewer = 0;
        for (const std::int64_t rows : {17, 24, 31, 32, 33, 48, 63, 64}) {
          const ProductSize size{.rows = rows, .columns = columns, .depth = depth, .dense = true};
          const TileChoice choice = choose_tiles(chip, size, math);
          const double clocks = expected_clocks(chip, size, choice, math);
          EXPECT_LT(tile_rows(choice.tile), 2 * rows) << depth << " to " << columns;
          EXPECT_LE(fewer, clocks) << rows << " rows, " << depth << " to " << columns;
          fewer = clocks;
        }
      }
}

TEST(CudaTiles, OfSlicesAreWideIfTheyAreEnoughAndMoreThanHalfFull) {
  const Chip chip;
  EXPECT_TRUE(wide_tiles_fill(chip, 128, 4096));
  EXPECT_TRUE(wide_tiles_fill(chip, 65, 4096));
  EXPECT_FALSE(wide_tiles_fill(chip, 64, 8192));
  EXPECT_FALSE(wide_tiles_fill(chip, 128, 1024));
  EXPECT_TRUE(wide_tiles_fill(chip, 8192, 64));
  EXPECT_FALSE(wide_tiles_fill(chip, 8192, 32));
}

TEST(CudaTiles, PackedSplitsAreClustersThatAllRunAtOnce) {
  const Chip chip;
  int split = 0, by_tma = 0;
  each_size([&](const ProductSize& plain) {
    for (const bool by_accelerator : {false, true}) {
      PackedSize size{plain};
      if (by_accelerator)
        size.copied_rows = plain.rows, size.taps = 1, size.tap_depth = plain.depth;
      const auto choice = choose_packed_tiles(chip, size, Math::tf32);
      by_tma += choice.tma;
      if (choice.splits == 1) continue;
      ++split;
      const int blocks = choice.tiles_m(size) * tiles(size.columns, choice.columns) * choice.splits;
      EXPECT_TRUE(clusters(choice.splits)) << choice.splits;
      EXPECT_LE(blocks, clustered_at_once(chip, choice.splits, 2));
    }
  });
  EXPECT_GT(split, 20);
  EXPECT_GT(by_tma, 20);
}

// A block of short stages would be slow alone. Stages of one term are long, and all must be filled.
TEST(CudaTiles, TwoTermsHaveShortStagesWhereTwoBlocksShareAMultiprocessor) {
  const Chip chip;
  const auto chosen = [&](std::int64_t rows, int filters, int channels, Math math) {
    PackedSize size{{.rows = rows, .columns = filters, .depth = 3 * channels}};
    size.copied_rows = rows, size.taps = 3, size.tap_depth = channels;
    return choose_packed_tiles(chip, size, math);
  };
  const auto one_round = std::int64_t{128} * chip.multiprocessors;
  EXPECT_EQ(chosen(one_round, 128, 128, Math::tf32).stage_depth, tma_long);
  EXPECT_EQ(chosen(2 * one_round, 128, 128, Math::tf32).stage_depth, tma_short);
  EXPECT_EQ(chosen(2 * one_round, 128, 128, Math::bf16).stage_depth, tma_long);
  EXPECT_EQ(chosen(2 * one_round, 96, 96, Math::tf32).stage_depth, tma_short);
  EXPECT_FALSE(chosen(2 * one_round, 96, 96, Math::bf16).tma);
  EXPECT_FALSE(chosen(2 * one_round, 128, 40, Math::tf32).tma);
}

// Every filter is in one split, none of which is empty.
TEST(CudaTiles, OfUpdatesAreWideAndFillTheChip) {
  const auto tiles_of = [](int inputs, int filters, std::int64_t samples) {
    ConvShape shape;
    shape.channels = inputs, shape.filters = filters;
    return thin_update_tiles(shape, samples, Chip{});
  };
  for (const int inputs : {64, 1032, 4096, 100'000})
    for (const int filters : {8, 128, 136, 1024, 1104, 2096, 4096})
      for (const std::int64_t samples : {1, 4, 5, 16}) {
        const ThinUpdateTiles t = tiles_of(inputs, filters, samples);
        EXPECT_GE(t.samples, samples);
        EXPECT_GE(t.tiles * thin_update_rows(t.samples), inputs);
        EXPECT_GE(t.splits * t.columns, filters);
        EXPECT_LT((t.splits - 1) * t.columns, filters);
        EXPECT_TRUE(t.columns == 128 || t.tiles * t.splits >= 2 * Chip{}.multiprocessors);
      }
  EXPECT_EQ(tiles_of(4096, 4096, 1).columns, 1024);
  EXPECT_EQ(tiles_of(4096, 4096, 16).columns, 512);
  EXPECT_EQ(tiles_of(2064, 2096, 4).columns, 256);  // wider ones would be emptier
  EXPECT_EQ(tiles_of(1032, 1024, 4).columns, 128);  // and here too few
}

}  // namespace
}  // namespace sweetspot::engine::cuda
#endif
