#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/cpu/cpu.h"
#include "products.h"

// Products with operands packed in memory: they are chosen by size, so these networks and batches
// are large enough.
namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;

// Every epilogue (ReLU, 2×2 pooling, dropout), strides, kernels of 1×1 to 5×3, filters that fill
// tiles of 32 to 128 columns or leave some empty, channels in pieces of 64, 32 and neither.
constexpr const char* every_way =
    R"({"class_name": "Sequential", "config": {"name": "every-way", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 18, 18, 8]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 64, "kernel_size": [3, 3], "padding": "same", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "b", "filters": 96, "kernel_size": [3, 3], "activation": "relu"}},
  {"class_name": "MaxPooling2D", "config": {"name": "c", "pool_size": [2, 2]}},
  {"class_name": "Dropout", "config": {"name": "d", "rate": 0.3}},
  {"class_name": "Conv2D", "config": {"name": "e", "filters": 200, "kernel_size": [5, 3], "padding": "same", "activation": "relu", "use_bias": false}},
  {"class_name": "Conv2D", "config": {"name": "f", "filters": 160, "kernel_size": [3, 3], "strides": [2, 2], "padding": "same", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "g", "filters": 32, "kernel_size": [1, 1], "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "h", "filters": 128, "kernel_size": [3, 3], "padding": "same", "activation": "relu"}},
  {"class_name": "Flatten", "config": {"name": "i"}},
  {"class_name": "Dense", "config": {"name": "j", "units": 1024, "activation": "relu"}},
  {"class_name": "Dropout", "config": {"name": "k", "rate": 0.5}},
  {"class_name": "Dense", "config": {"name": "l", "units": 10, "activation": "softmax"}}]}})";

class CudaPacked : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    options.precision = GetParam();
    // A GPU without products of warpgroups packs nothing.
    if (packed.count(network, options, whole) == 0) GTEST_SKIP() << "this GPU packs no operands";
  }
  static constexpr std::int64_t whole = 600;
  static constexpr BySize packed{.word = "packed", .whole = whole, .part = 8, .least = 4};
  const model::Network network = model::read_keras(every_way, "every-way");
  cuda::Options options;
};

TEST_P(CudaPacked, ProductsHaveTheGradientsOfPlainOnes) {
  const Precision p = GetParam();
  // With discontinuities, differences grow as square roots, and one rounding that differs causes
  // others downstream: 0.003, 0.07, 0.05 and 0.04 were seen.
  expect_gradients_of_parts(network, options, packed, p == Precision::fp32 ? 5e-3 : 0.1);
  expect_gradients_of_parts(without_edges(network, model::Activation::linear), options, packed,
                            p == Precision::fp32   ? 1e-4
                            : p == Precision::bf16 ? 6e-2
                                                   : 1e-2);
}

TEST_P(CudaPacked, ProductsTrainTheSameBitForBitInThePlannedMemory) {
  expect_the_same_bit_for_bit(network, options, whole, true);
}

// The neighbours of such a product write its operands as terms, and the bias sums.
constexpr const char* between_norms =
    R"({"class_name": "Sequential", "config": {"name": "between-norms", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 20, 18, 4]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 40, "kernel_size": [3, 3]}},
  {"class_name": "BatchNormalization", "config": {"name": "b"}},
  {"class_name": "Activation", "config": {"name": "c", "activation": "tanh"}},
  {"class_name": "Conv2D", "config": {"name": "d", "filters": 72, "kernel_size": [3, 3], "padding": "same"}},
  {"class_name": "BatchNormalization", "config": {"name": "e"}},
  {"class_name": "Activation", "config": {"name": "f", "activation": "sigmoid"}},
  {"class_name": "Conv2D", "config": {"name": "g", "filters": 64, "kernel_size": [3, 3], "activation": "tanh"}},
  {"class_name": "AveragePooling2D", "config": {"name": "h", "pool_size": [2, 2]}},
  {"class_name": "Conv2D", "config": {"name": "i", "filters": 128, "kernel_size": [3, 3], "padding": "same"}},
  {"class_name": "BatchNormalization", "config": {"name": "j"}},
  {"class_name": "GlobalAveragePooling2D", "config": {"name": "k"}},
  {"class_name": "Dense", "config": {"name": "l", "units": 24, "activation": "tanh"}},
  {"class_name": "Dense", "config": {"name": "m", "units": 10, "activation": "softmax"}}]}})";

TEST_P(CudaPacked, ProductsBetweenNormalisationsHaveTheGradientsOfTheCpu) {
  const model::Network between = model::read_keras(between_norms, "between-norms");
  EXPECT_GE(packed.count(between, options, whole), 2);
  const auto gpu = cuda::make_trainer(between, options);
  const auto cpu = cpu::make_trainer(between, options.trainer);
  const GoldenBatch batch(between, true, whole, 0);
  const double near = GetParam() == Precision::bf16 ? 0.1 : 1e-2;  // 0.067 was seen
  const double expected = cpu->accumulate(batch.view(), whole).loss;
  EXPECT_NEAR(gpu->accumulate(batch.view(), whole).loss, expected, near * expected);
  // In exact arithmetic the bias before a normalisation has no gradient.
  const auto is_nothing = [](const Variable& v) {
    return v.parameter.name == "a/bias" || v.parameter.name == "d/bias" ||
           v.parameter.name == "i/bias";
  };
  std::vector<Variable> found = gpu->gradients(), wanted = cpu->gradients();
  for (const Variable& v : found)
    for (const float g : v.values) EXPECT_LT(is_nothing(v) ? std::abs(g) : 0, 1e-4);
  std::erase_if(found, is_nothing), std::erase_if(wanted, is_nothing);
  expect_near(found, wanted, near);
  EXPECT_EQ(gpu->memory(), cuda::plan(between, options, whole, false)->memory());
}

// Channels that are no multiples of eight, with functions that are not zero at zero, in front of
// everything that must not see the padding.
constexpr const char* odd_channels =
    R"({"class_name": "Sequential", "config": {"name": "odd-channels", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 20, 18, 4]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 20, "kernel_size": 3, "padding": "same", "activation": "sigmoid"}},
  {"class_name": "Conv2D", "config": {"name": "b", "filters": 36, "kernel_size": 5, "strides": 2, "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "c"}},
  {"class_name": "Activation", "config": {"name": "d", "activation": "sigmoid"}},
  {"class_name": "Conv2D", "config": {"name": "e", "filters": 50, "kernel_size": 3, "padding": "same", "activation": "softplus"}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "f", "kernel_size": 3, "padding": "same"}},
  {"class_name": "Conv2D", "config": {"name": "g", "filters": 100, "kernel_size": 1, "activation": "tanh"}},
  {"class_name": "LayerNormalization", "config": {"name": "h"}},
  {"class_name": "Flatten", "config": {"name": "i"}},
  {"class_name": "Dense", "config": {"name": "j", "units": 84, "activation": "sigmoid"}},
  {"class_name": "Dense", "config": {"name": "k", "units": 21, "activation": "softmax"}}]}})";

TEST_P(CudaPacked, ProductsOfOddChannelsHaveTheGradientsOfTheCpu) {
  const model::Network odd = model::read_keras(odd_channels, "odd-channels");
  EXPECT_GE(packed.count(odd, options, whole), 2);
  const auto gpu = cuda::make_trainer(odd, options);
  const auto cpu = cpu::make_trainer(odd, options.trainer);
  const double near = GetParam() == Precision::bf16 ? 0.1 : 1e-2;
  for (const std::int64_t size : {whole, std::int64_t{16}, std::int64_t{3}}) {
    SCOPED_TRACE(size);
    const GoldenBatch batch(odd, true, size, 0);
    const double expected = cpu->accumulate(batch.view(), size).loss;
    EXPECT_NEAR(gpu->accumulate(batch.view(), size).loss, expected, near * expected);
    expect_near(gpu->gradients(), cpu->gradients(), near);
  }
}

// Whole stages of channels and filters, long and (96, 160) only short ones, and rows of the weight
// gradient filled by half (96);
// kernels of 3×3, 1×1 and 5×3, strides with several phases, padding on one side, wide and narrow
// tiles, and matrices. ReLU behind ReLU: the gradient passes through codes.
constexpr const char* copied =
    R"({"class_name": "Sequential", "config": {"name": "copied", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 19, 22, 64]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 96, "kernel_size": [5, 3], "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "b", "filters": 192, "kernel_size": [3, 3], "strides": [2, 2], "padding": "same", "activation": "relu"}},
  {"class_name": "Dropout", "config": {"name": "c", "rate": 0.3}},
  {"class_name": "Conv2D", "config": {"name": "d", "filters": 160, "kernel_size": [3, 3], "padding": "same", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "e", "filters": 256, "kernel_size": [1, 1], "activation": "tanh"}},
  {"class_name": "Conv2D", "config": {"name": "f", "filters": 64, "kernel_size": [3, 3], "strides": [1, 2], "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "g"}},
  {"class_name": "Conv2D", "config": {"name": "h", "filters": 128, "kernel_size": [2, 2], "padding": "same", "activation": "relu"}},
  {"class_name": "Flatten", "config": {"name": "i"}},
  {"class_name": "Dense", "config": {"name": "j", "units": 512, "activation": "relu"}},
  {"class_name": "Dense", "config": {"name": "k", "units": 10, "activation": "softmax"}}]}})";

TEST_P(CudaPacked, TilesThatTheTmaCopiesHaveTheGradientsOfTheCpu) {
  const Precision p = GetParam();
  if (p == Precision::fp32) GTEST_SKIP() << "three terms are copied by threads";
  const model::Network smooth =
      without_edges(model::read_keras(copied, "copied"), model::Activation::linear);
  constexpr std::int64_t most = 256;
  EXPECT_GE(operations_with("TMA", *cuda::plan(smooth, options, most, false)), 4);
  const auto gpu = cuda::make_trainer(smooth, options);
  const auto cpu = cpu::make_trainer(smooth, options.trainer);
  for (const std::int64_t size : {most, most - 7}) {  // the second fills no tile
    const GoldenBatch batch(smooth, true, size, 0);
    const double near = p == Precision::bf16 ? 0.1 : 2e-2;
    const double expected = cpu->accumulate(batch.view(), most).loss;
    EXPECT_NEAR(gpu->accumulate(batch.view(), most).loss, expected, near * expected);
    expect_near(gpu->gradients(), cpu->gradients(), near);
  }
}

TEST_P(CudaPacked, TilesThatTheTmaCopiesTrainTheSameBitForBitInThePlannedMemory) {
  expect_the_same_bit_for_bit(model::read_keras(copied, "copied"), options, whole, true);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaPacked,
                         ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16,
                                           Precision::fp16),
                         [](const auto& p) { return std::string(cuda::name(p.param)); });

// Three terms of bf16 are all bits of an fp32 operand.
TEST(CudaPackedPrecision, OfFp32IsThatOfTheCpu) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "wide", "layers": [
      {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 1024]}},
      {"class_name": "Dense", "config": {"name": "a", "units": 1024, "activation": "tanh"}},
      {"class_name": "Dense", "config": {"name": "b", "units": 1024, "activation": "linear"}}]}})",
      "wide");
  cuda::Options options;
  options.trainer.loss = model::Loss::mean_squared_error;
  constexpr std::int64_t size = 2048;
  if (operations_with("packed", *cuda::plan(network, options, size, false)) == 0)
    GTEST_SKIP() << "this GPU packs no operands";
  const auto gpu = cuda::make_trainer(network, options);
  const auto cpu = cpu::make_trainer(network, options.trainer);
  const GoldenBatch batch(network, false, size, 0);
  const double expected = cpu->accumulate(batch.view(), size).loss;
  EXPECT_NEAR(gpu->accumulate(batch.view(), size).loss, expected, 1e-6 * expected);
  expect_near(gpu->gradients(), cpu->gradients(), 1e-5);
}

}  // namespace
}  // namespace sweetspot::engine
