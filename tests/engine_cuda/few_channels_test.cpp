#include <gtest/gtest.h>

#include "engine/cpu/cpu.h"
#include "engine/golden.h"
#include "engine/near.h"
#include "gpu.h"

// Convolutions over few channels: both gradients; and dropout by itself.
namespace sweetspot::engine {
namespace {

using namespace testing;

// One to four channels; strides that do not divide the image, padding, a kernel larger than
// its stride and one smaller; ReLU, tanh and none after them; filters that fill no vector. Dropout
// behind tanh and behind pooling, with dead columns and lines and with padding, and without.
constexpr const char* few_channels =
    R"({"class_name": "Sequential", "config": {"name": "few-channels", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 27, 22, 1]}},
  {"class_name": "BatchNormalization", "config": {"name": "a"}},
  {"class_name": "Conv2D", "config": {"name": "one", "filters": 2, "kernel_size": 1, "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "b", "filters": 22, "kernel_size": [5, 3], "strides": [2, 1], "padding": "same", "activation": "tanh"}},
  {"class_name": "Dropout", "config": {"name": "c", "rate": 0.3}},
  {"class_name": "AveragePooling2D", "config": {"name": "d", "pool_size": [4, 3]}},
  {"class_name": "Dropout", "config": {"name": "e", "rate": 0.2}},
  {"class_name": "Conv2D", "config": {"name": "f", "filters": 3, "kernel_size": 3, "padding": "same", "activation": "sigmoid"}},
  {"class_name": "UpSampling2D", "config": {"name": "g", "size": 4}},
  {"class_name": "Conv2D", "config": {"name": "h", "filters": 4, "kernel_size": [2, 7], "activation": "tanh"}},
  {"class_name": "Conv2D", "config": {"name": "i", "filters": 24, "kernel_size": [3, 5], "strides": [3, 2], "activation": "relu"}},
  {"class_name": "Activation", "config": {"name": "j", "activation": "tanh"}},
  {"class_name": "Dropout", "config": {"name": "k", "rate": 0.4}},
  {"class_name": "AveragePooling2D", "config": {"name": "l", "pool_size": 2}},
  {"class_name": "Flatten", "config": {"name": "m"}},
  {"class_name": "Dense", "config": {"name": "n", "units": 7, "activation": "softmax"}}]}})";

class CudaFewChannels : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(CudaFewChannels, HaveTheCpusGradients) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(few_channels, "few-channels");
  EXPECT_GE(operations_with("few channels", *cuda::plan(network, {}, GetParam(), false)), 2);
  const auto gpu = cuda::make_trainer(network, {});
  const auto cpu = cpu::make_trainer(network, {});
  const GoldenBatch batch(network, true, GetParam(), 0);
  const double expected = cpu->accumulate(batch.view(), GetParam()).loss;
  EXPECT_NEAR(gpu->accumulate(batch.view(), GetParam()).loss, expected, 1e-4 * expected);
  expect_near(gpu->gradients(), cpu->gradients(), 2e-3);
}

INSTANTIATE_TEST_SUITE_P(Batches, CudaFewChannels, ::testing::Values(1, 5, 64, 700),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace sweetspot::engine
