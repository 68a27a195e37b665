#include <gtest/gtest.h>

#include "products.h"

// Products of few rows and great depth.
namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;

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
