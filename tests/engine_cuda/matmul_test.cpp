#include <gtest/gtest.h>

#include "products.h"

// Products with cuBLASLt: large dense layers and 1×1 convolutions.
namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;

// With and without bias, ReLU and dropout; rows that fill no tile; one whose producer writes its
// input as 16-bit terms.
constexpr const char* single_positions =
    R"({"class_name": "Sequential", "config": {"name": "single-positions", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 9, 7, 24]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 264, "kernel_size": [1, 1], "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "b"}},
  {"class_name": "Conv2D", "config": {"name": "c", "filters": 136, "kernel_size": [1, 1], "activation": "relu"}},
  {"class_name": "Dropout", "config": {"name": "d", "rate": 0.3}},
  {"class_name": "Conv2D", "config": {"name": "e", "filters": 72, "kernel_size": [1, 1], "activation": "relu"}},
  {"class_name": "Flatten", "config": {"name": "f"}},
  {"class_name": "Dense", "config": {"name": "g", "units": 1000, "activation": "tanh"}},
  {"class_name": "Dense", "config": {"name": "h", "units": 1024, "activation": "relu"}},
  {"class_name": "Dropout", "config": {"name": "i", "rate": 0.5}},
  {"class_name": "Dense", "config": {"name": "j", "units": 10, "activation": "softmax"}}]}})";

class CudaMatmul : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    options.precision = GetParam();
    if (by_library.count(network, options, by_library.whole) == 0)
      GTEST_SKIP() << "there is no cuBLASLt here";
  }
  static constexpr BySize by_library{.word = "cuBLASLt", .whole = 900, .part = 3, .least = 5};
  const model::Network network = model::read_keras(single_positions, "single-positions");
  cuda::Options options;
};

// No batch normalisation, which would distinguish a batch from its parts.
TEST_P(CudaMatmul, ProductsHaveTheGradientsOfOurOwn) {
  model::Network plain = network;
  std::erase_if(plain.layers, [](const model::Layer& l) { return l.name == "b"; });
  expect_gradients_of_parts(plain, options, by_library, 0.1);
  expect_gradients_of_parts(without_edges(plain, model::Activation::linear), options, by_library,
                            GetParam() == Precision::bf16 ? 6e-2 : 1e-2);
}

TEST_P(CudaMatmul, ProductsTrainTheSameBitForBitInThePlannedMemory) {
  expect_the_same_bit_for_bit(network, options, by_library.whole, true);
}

// In fp16 only where reading the kernels is what costs: floats in place, which cannot overflow.
TEST(CudaMatmulOfHalfs, LeavesLargeKernelsInPlace) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "large-kernels", "layers": [
      {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 2064]}},
      {"class_name": "Dense", "config": {"name": "a", "units": 2064}},
      {"class_name": "Dropout", "config": {"name": "b", "rate": 0.3}},
      {"class_name": "Dense", "config": {"name": "c", "units": 2072, "use_bias": false}},
      {"class_name": "Dense", "config": {"name": "d", "units": 10, "activation": "softmax"}}]}})",
      "large-kernels");
  cuda::Options options;
  options.precision = Precision::fp16;
  constexpr BySize by_library{.word = "cuBLASLt", .whole = 64, .part = 3, .least = 2};
  if (by_library.count(network, options, by_library.whole) == 0)
    GTEST_SKIP() << "there is no cuBLASLt here";
  expect_gradients_of_parts(network, options, by_library, 1e-2);
  expect_the_same_bit_for_bit(network, options, by_library.whole, true);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaMatmul,
                         ::testing::Values(Precision::tf32, Precision::bf16),
                         [](const auto& p) { return std::string(cuda::name(p.param)); });

}  // namespace
}  // namespace sweetspot::engine
