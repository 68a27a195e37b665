#include <gtest/gtest.h>

#include "products.h"

// Depthwise convolutions whose threads divide the taps, and passes that load several rows, or all
// of a window, at once.
namespace sweetspot::engine {
namespace {

using namespace testing;

// Kernels as tall as the image, of one line, of even sizes; with strides, padding, ReLU and without
// a bias; channels that fill no vector, or several; multiplied channels. Seven outputs, for which
// all labels are the same: with five, as many samples of each cancelled the gradients of biases
// down to the rounding of bf16.
constexpr const char* many_taps =
    R"({"class_name": "Sequential", "config": {"name": "many-taps", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 24, 37, 3]}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "a", "kernel_size": 7, "padding": "same", "depth_multiplier": 3}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "b", "kernel_size": [6, 9], "padding": "same", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "c", "filters": 40, "kernel_size": 1, "activation": "tanh"}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "d", "kernel_size": [24, 1], "depth_multiplier": 2, "use_bias": false}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "e", "kernel_size": [1, 16], "strides": [2, 2], "padding": "same"}},
  {"class_name": "Flatten", "config": {"name": "f"}},
  {"class_name": "Dense", "config": {"name": "g", "units": 7, "activation": "softmax"}}]}})";

// Small kernels, with few outputs or many: strides, padding, even sizes, one tap, ReLU, values of
// 16 bits between normalisations.
constexpr const char* few_taps =
    R"({"class_name": "Sequential", "config": {"name": "few-taps", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 29, 22, 5]}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "a", "kernel_size": 3, "padding": "same", "activation": "relu"}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "b", "kernel_size": 3, "strides": 2, "padding": "same", "use_bias": false}},
  {"class_name": "Conv2D", "config": {"name": "c", "filters": 36, "kernel_size": 1, "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "d"}},
  {"class_name": "Activation", "config": {"name": "r", "activation": "relu"}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "e", "kernel_size": [2, 3], "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "f"}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "g", "kernel_size": [3, 1], "strides": 2, "padding": "same"}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "h", "kernel_size": 1}},
  {"class_name": "GlobalAveragePooling2D", "config": {"name": "i"}},
  {"class_name": "Dense", "config": {"name": "j", "units": 7, "activation": "softmax"}}]}})";

// Small windows with and without overlap and padding, and large ones; images repeated and padded;
// the mean and the maximum of whole images of many positions.
constexpr const char* windows =
    R"({"class_name": "Sequential", "config": {"name": "windows", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 33, 26, 2]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 10, "kernel_size": 2, "activation": "tanh"}},
  {"class_name": "MaxPooling2D", "config": {"name": "b", "pool_size": 3, "strides": 2, "padding": "same"}},
  {"class_name": "UpSampling2D", "config": {"name": "c", "size": [2, 3]}},
  {"class_name": "AveragePooling2D", "config": {"name": "d", "pool_size": [2, 3], "strides": [1, 2], "padding": "same"}},
  {"class_name": "ZeroPadding2D", "config": {"name": "e", "padding": [[1, 2], [3, 0]]}},
  {"class_name": "MaxPooling2D", "config": {"name": "f", "pool_size": [4, 2], "strides": [1, 1]}},
  {"class_name": "Conv2D", "config": {"name": "g", "filters": 21, "kernel_size": 1}},
  )";
model::Network pooled(const char* last) {
  return model::read_keras(std::string(windows) + last +
                               R"(,
  {"class_name": "Dense", "config": {"name": "z", "units": 7, "activation": "softmax"}}]}})",
                           "windows");
}
constexpr const char* plane_average =
    R"({"class_name": "GlobalAveragePooling2D", "config": {"name": "h"}})";
constexpr const char* plane_maximum =
    R"({"class_name": "GlobalMaxPooling2D", "config": {"name": "h"}})";

class CudaManyTaps : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(CudaManyTaps, HaveTheCpusGradients) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(many_taps, "many-taps");
  expect_the_cpus_gradients_in_every_precision(network, GetParam());
}

TEST_P(CudaManyTaps, AndFewTapsHaveTheCpusGradients) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(few_taps, "few-taps");
  expect_the_cpus_gradients(without_edges(network, model::Activation::tanh), GetParam(), 2e-3);
}

TEST_P(CudaManyTaps, AndWindowsHaveTheCpusGradients) {
  REQUIRE_GPU();
  for (const char* last : {plane_average, plane_maximum})
    expect_the_cpus_gradients(pooled(last), GetParam(), 2e-3, {});
}

TEST_P(CudaManyTaps, TrainTheSameBitForBitInThePlannedMemory) {
  REQUIRE_GPU();
  cuda::Options options;
  for (const auto precision : {cuda::Precision::fp32, cuda::Precision::bf16}) {
    options.precision = precision;
    for (const char* text : {many_taps, few_taps})
      expect_the_same_bit_for_bit(model::read_keras(text, "taps"), options, GetParam(), true);
    expect_the_same_bit_for_bit(pooled(plane_average), options, GetParam(), true);
  }
}

INSTANTIATE_TEST_SUITE_P(Batches, CudaManyTaps, ::testing::Values(1, 6, 300),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace sweetspot::engine
