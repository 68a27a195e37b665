#include <gtest/gtest.h>

#include "engine/cuda/ops/packed_tiles.h"
#include "products.h"

// How products are divided into tiles and splits of their depth.
namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Chip, cuda::Math, cuda::Precision, cuda::TileKind;

constexpr std::int64_t row_counts[] = {1, 17, 64, 300, 1024, 5000, 20000, 131072};
constexpr std::int64_t column_counts[] = {8, 32, 96, 192, 512, 2048};
constexpr std::int64_t depths[] = {27, 130, 576, 1728, 4608, 20000};

template <class Check>
void each_size(Check check) {
  for (const std::int64_t rows : row_counts)
    for (const std::int64_t columns : column_counts)
      for (const std::int64_t depth : depths)
        check(cuda::ProductSize{.rows = rows, .columns = columns, .depth = depth});
}

TEST(CudaTiles, SplitsOfATileAreClustersThatAllRunAtOnce) {
  const Chip chip;
  int clustered = 0;
  each_size([&](const cuda::ProductSize& size) {
    const auto choice = cuda::choose_tiles(chip, size, Math::bf16);
    EXPECT_GE(std::int64_t{choice.splits} * choice.split_depth, size.depth);
    if (!choice.clustered) return;
    ++clustered;
    const int tiles = cuda::tiles(size.rows, cuda::tile_rows(choice.tile)) *
                      cuda::tiles(size.columns, cuda::tile_columns(choice.tile));
    EXPECT_TRUE(cuda::clusters(choice.splits)) << choice.splits;
    EXPECT_LE(tiles * choice.splits, cuda::clustered_at_once(chip, choice.splits, 1));
    EXPECT_EQ(choice.scratch(size).bytes, 0u);
  });
  EXPECT_GT(clustered, 20);
}

TEST(CudaTiles, AChipWithoutClustersAddsSplitsInMemory) {
  Chip chip;
  chip.warpgroups = chip.programmatic = false;
  int split = 0;
  each_size([&](const cuda::ProductSize& size) {
    const auto choice = cuda::choose_tiles(chip, size, Math::bf16);
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
  each_size([&](const cuda::ProductSize& size) {
    for (const TileKind tile : {TileKind::small, TileKind::wide, TileKind::large}) {
      const cuda::TileChoice choice{.tile = tile};
      EXPECT_LT(cuda::expected_clocks(hopper, size, choice, Math::fp32),
                cuda::expected_clocks(other, size, choice, Math::fp32));
      EXPECT_EQ(cuda::expected_clocks(hopper, size, choice, Math::tf32),
                cuda::expected_clocks(other, size, choice, Math::tf32));
    }
  });
  EXPECT_GT(cuda::on_chip_rate(hopper), cuda::on_chip_rate(other));
  // 64 wide tiles are enough for the chip only if each is fast.
  const cuda::ProductSize dense{.rows = 1024, .columns = 512, .depth = 512, .dense = true};
  EXPECT_EQ(cuda::choose_tiles(hopper, dense, Math::fp32).tile, TileKind::wide);
  EXPECT_EQ(cuda::choose_tiles(other, dense, Math::fp32).tile, TileKind::small);
}

TEST(CudaTiles, PackedSplitsAreClustersThatAllRunAtOnce) {
  const Chip chip;
  int split = 0;
  each_size([&](const cuda::ProductSize& plain) {
    for (const std::int64_t stages : {std::int64_t{0}, (plain.depth + 63) / 64}) {
      const cuda::PackedSize size{plain, stages ? plain.rows : 0, stages};
      const auto choice = cuda::choose_packed_tiles(chip, size, Math::tf32);
      if (choice.splits == 1) continue;
      ++split;
      const int blocks =
          choice.tiles_m(size) * cuda::tiles(size.columns, choice.columns) * choice.splits;
      EXPECT_TRUE(cuda::clusters(choice.splits)) << choice.splits;
      EXPECT_LE(blocks, cuda::clustered_at_once(chip, choice.splits, 2));
    }
  });
  EXPECT_GT(split, 20);
}

// Few rows and deep products: splits of small tiles, of middle ones' neighbours and of packed ones,
// with every epilogue, strides and odd extents.
constexpr const char* deep = R"({"class_name": "Sequential", "config": {"name": "deep", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 13, 11, 20]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 40, "kernel_size": [5, 5], "padding": "same", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "b", "filters": 72, "kernel_size": [3, 3], "strides": [2, 2], "padding": "same", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "c", "filters": 128, "kernel_size": [3, 3], "padding": "same", "activation": "relu"}},
  {"class_name": "MaxPooling2D", "config": {"name": "d", "pool_size": [2, 2]}},
  {"class_name": "Dropout", "config": {"name": "e", "rate": 0.3}},
  {"class_name": "Conv2D", "config": {"name": "f", "filters": 192, "kernel_size": [3, 3], "padding": "same", "activation": "sigmoid"}},
  {"class_name": "Flatten", "config": {"name": "g"}},
  {"class_name": "Dense", "config": {"name": "h", "units": 700, "activation": "tanh"}},
  {"class_name": "Dense", "config": {"name": "i", "units": 300, "activation": "relu"}},
  {"class_name": "Dense", "config": {"name": "j", "units": 10, "activation": "softmax"}}]}})";

class CudaDeep : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    options.precision = GetParam();
  }
  const model::Network network = model::read_keras(deep, "deep");
  cuda::Options options;
};

TEST_P(CudaDeep, ProductsOfFewRowsHaveTheCpusGradients) {
  const Precision p = GetParam();
  const model::Network smooth = without_edges(network, model::Activation::linear);
  for (const std::int64_t size : {1, 3, 17, 50, 130})
    testing::expect_the_cpus_gradients(smooth, size,
                                       p == Precision::fp32   ? 1e-4
                                       : p == Precision::bf16 ? 0.1
                                                              : 2e-2,
                                       options);
}

TEST_P(CudaDeep, ProductsOfFewRowsTrainTheSameBitForBitInThePlannedMemory) {
  for (const std::int64_t size : {1, 17, 130})
    expect_the_same_bit_for_bit(network, options, size, true);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaDeep,
                         ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16,
                                           Precision::fp16),
                         [](const auto& p) { return std::string(cuda::name(p.param)); });

}  // namespace
}  // namespace sweetspot::engine
