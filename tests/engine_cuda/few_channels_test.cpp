#include <gtest/gtest.h>

#include "engine/cpu/cpu.h"
#include "products.h"

// Convolutions over few channels or with few filters: values and gradients; and dropout by itself.
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

// Two to five filters over more channels, some of them in parts of the depth; with strides,
// padding, ReLU, tanh and a normalisation behind them; dropout behind a convolution over few
// channels, with and without ReLU; large kernels with and without strides over few channels.
constexpr const char* few_filters =
    R"({"class_name": "Sequential", "config": {"name": "few-filters", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 30, 26, 2]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 21, "kernel_size": 3, "padding": "same", "activation": "relu"}},
  {"class_name": "Dropout", "config": {"name": "b", "rate": 0.3}},
  {"class_name": "Conv2D", "config": {"name": "c", "filters": 3, "kernel_size": [3, 5], "padding": "same", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "d", "filters": 52, "kernel_size": 1}},
  {"class_name": "Dropout", "config": {"name": "e", "rate": 0.2}},
  {"class_name": "Conv2D", "config": {"name": "f", "filters": 5, "kernel_size": [7, 6], "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "g"}},
  {"class_name": "Conv2D", "config": {"name": "h", "filters": 88, "kernel_size": [5, 7], "padding": "same", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "i", "filters": 4, "kernel_size": [7, 5], "activation": "tanh"}},
  {"class_name": "Conv2D", "config": {"name": "j", "filters": 100, "kernel_size": [5, 7], "strides": [2, 1], "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "k", "filters": 2, "kernel_size": 1, "strides": [1, 2], "padding": "same"}},
  {"class_name": "GlobalAveragePooling2D", "config": {"name": "l"}},
  {"class_name": "Dense", "config": {"name": "m", "units": 7, "activation": "softmax"}}]}})";

// One to four channels on the tensor cores: more taps than one warp's, filters that fill tiles of
// 32 and of 64 or leave some empty; a normalisation, ReLU, tanh and dropout behind them.
constexpr const char* many_filters =
    R"({"class_name": "Sequential", "config": {"name": "many-filters", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 30, 28, 1]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 40, "kernel_size": [7, 5], "padding": "same", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "b", "filters": 3, "kernel_size": 1, "activation": "tanh"}},
  {"class_name": "Conv2D", "config": {"name": "c", "filters": 62, "kernel_size": 5, "strides": 2, "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "d"}},
  {"class_name": "Activation", "config": {"name": "e", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "f", "filters": 4, "kernel_size": 1, "activation": "sigmoid"}},
  {"class_name": "Conv2D", "config": {"name": "g", "filters": 96, "kernel_size": 3, "activation": "relu"}},
  {"class_name": "Dropout", "config": {"name": "h", "rate": 0.3}},
  {"class_name": "Conv2D", "config": {"name": "i", "filters": 2, "kernel_size": 1}},
  {"class_name": "Conv2D", "config": {"name": "j", "filters": 33, "kernel_size": [4, 3], "strides": [1, 2], "activation": "tanh"}},
  {"class_name": "GlobalAveragePooling2D", "config": {"name": "k"}},
  {"class_name": "Dense", "config": {"name": "l", "units": 7, "activation": "softmax"}}]}})";

class CudaFewChannels : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(CudaFewChannels, HaveTheCpusGradients) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(few_channels, "few-channels");
  EXPECT_GE(operations_with("few channels", *cuda::plan(network, {}, GetParam(), false)), 2);
  expect_the_cpus_gradients(network, GetParam(), 2e-3);
}

TEST_P(CudaFewChannels, AndFewFiltersHaveTheCpusGradients) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(few_filters, "few-filters");
  const int many = operations_with("few filters", *cuda::plan(network, {}, GetParam(), false));
  EXPECT_GE(many, GetParam() < 64 ? 0 : 2);
  expect_the_cpus_gradients(network, GetParam(), 2e-3);
}

TEST_P(CudaFewChannels, AndManyFiltersHaveTheCpusGradients) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(many_filters, "many-filters");
  expect_the_cpus_gradients_in_every_precision(network, GetParam());
}

// Outputs as 16-bit terms, for a product of packed operands.
TEST(CudaManyFilters, BeforePackedOperandsHaveTheCpusGradients) {
  REQUIRE_GPU();
  const model::Network network = without_edges(
      model::read_keras(R"({"class_name": "Sequential", "config": {"name": "terms", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 26, 30, 3]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 40, "kernel_size": 3, "padding": "same", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "b", "filters": 64, "kernel_size": 3, "activation": "relu"}},
  {"class_name": "Dropout", "config": {"name": "c", "rate": 0.3}},
  {"class_name": "Conv2D", "config": {"name": "d", "filters": 64, "kernel_size": 3, "activation": "relu"}},
  {"class_name": "GlobalAveragePooling2D", "config": {"name": "e"}},
  {"class_name": "Dense", "config": {"name": "f", "units": 7, "activation": "softmax"}}]}})",
                        "terms"),
      model::Activation::linear);
  cuda::Options options;
  for (const auto precision :
       {cuda::Precision::tf32, cuda::Precision::bf16, cuda::Precision::fp16}) {
    SCOPED_TRACE(cuda::name(precision));
    options.precision = precision;
    expect_the_cpus_gradients(network, 200, precision == cuda::Precision::bf16 ? 0.1 : 2e-2,
                              options);
  }
}

TEST(CudaManyFilters, TrainTheSameBitForBitInThePlannedMemory) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(many_filters, "many-filters");
  cuda::Options options;
  for (const auto precision : {cuda::Precision::fp32, cuda::Precision::tf32, cuda::Precision::bf16,
                               cuda::Precision::fp16}) {
    options.precision = precision;
    expect_the_same_bit_for_bit(network, options, 200, true);
  }
}

TEST(CudaFewFilters, TrainTheSameBitForBitInThePlannedMemory) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(few_filters, "few-filters");
  cuda::Options options;
  for (const auto precision : {cuda::Precision::fp32, cuda::Precision::tf32, cuda::Precision::bf16,
                               cuda::Precision::fp16}) {
    options.precision = precision;
    expect_the_same_bit_for_bit(network, options, 100, true);
  }
}

// Images as outputs: few filters that fill no vector, one or two, or more than one vector; kernels
// of even sizes, of one line, of many taps; with padding and without, behind ReLU, dropout, tanh
// and an upsampled image. `last`: the end of the network.
model::Network image_network(const std::string& last) {
  return model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "images", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 33, 21, 2]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 43, "kernel_size": 3, "padding": "same", "activation": "relu"}},
  )" + last +
          "]}}",
      "images");
}
const std::vector<std::string> image_ends = {
    R"({"class_name": "Conv2D", "config": {"name": "b", "filters": 1, "kernel_size": 5, "padding": "same"}})",
    R"({"class_name": "Dropout", "config": {"name": "b", "rate": 0.3}},
  {"class_name": "Conv2D", "config": {"name": "c", "filters": 3, "kernel_size": [4, 6], "activation": "tanh"}})",
    R"({"class_name": "Conv2D", "config": {"name": "b", "filters": 2, "kernel_size": [1, 9], "padding": "same", "activation": "relu"}},
  {"class_name": "Conv2D", "config": {"name": "c", "filters": 5, "kernel_size": 3, "use_bias": false}})",
    R"({"class_name": "Conv2DTranspose", "config": {"name": "b", "filters": 3, "kernel_size": 5, "strides": 2, "padding": "same"}})",
    R"({"class_name": "Conv2D", "config": {"name": "b", "filters": 8, "kernel_size": 7, "padding": "same", "activation": "sigmoid"}})",
};

class CudaImages : public ::testing::TestWithParam<std::int64_t> {};

TEST_P(CudaImages, HaveTheCpusGradients) {
  REQUIRE_GPU();
  cuda::Options options;
  options.trainer.loss = model::Loss::mean_squared_error;
  for (const std::string& last : image_ends) {
    SCOPED_TRACE(last);
    const model::Network network = image_network(last);
    const model::Network smooth = without_edges(network, model::Activation::tanh);
    const GoldenBatch batch(network, false, GetParam(), 0);
    for (const auto precision : {cuda::Precision::fp32, cuda::Precision::tf32,
                                 cuda::Precision::bf16, cuda::Precision::fp16}) {
      SCOPED_TRACE(cuda::name(precision));
      options.precision = precision;
      const bool exact = precision == cuda::Precision::fp32;
      const double near = exact ? 2e-3 : precision == cuda::Precision::bf16 ? 0.1 : 2e-2;
      const auto gpu = cuda::make_trainer(exact ? network : smooth, options);
      const auto cpu = cpu::make_trainer(exact ? network : smooth, options.trainer);
      const auto expected = cpu->accumulate(batch.view(), GetParam());
      const auto found = gpu->accumulate(batch.view(), GetParam());
      EXPECT_NEAR(found.loss, expected.loss, near * expected.loss);
      if (exact) {
        EXPECT_EQ(found.correct, expected.correct);
      }
      expect_near(gpu->gradients(), cpu->gradients(), near);
    }
  }
}

TEST_P(CudaImages, TrainTheSameBitForBitInThePlannedMemory) {
  REQUIRE_GPU();
  cuda::Options options;
  options.trainer.loss = model::Loss::mean_squared_error;
  for (const auto precision : {cuda::Precision::fp32, cuda::Precision::bf16}) {
    options.precision = precision;
    for (const std::string& last : image_ends) {
      const model::Network network = image_network(last);
      const auto one = cuda::make_trainer(network, options),
                 other = cuda::make_trainer(network, options);
      const GoldenBatch batch(network, false, GetParam(), 0);
      for (int step = 0; step < 3; ++step)
        EXPECT_EQ(one->step(batch.view(), GetParam()).loss,
                  other->step(batch.view(), GetParam()).loss);
      const std::vector<Variable> a = one->variables(), b = other->variables();
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_EQ(a[i].values, b[i].values) << a[i].parameter.name;
      EXPECT_EQ(one->memory(), cuda::plan(network, options, GetParam(), false)->memory());
    }
  }
}

TEST(CudaFewFilters, HaveTheirOwnGradients) {
  REQUIRE_GPU();
  cuda::Options options;
  options.trainer.loss = model::Loss::mean_squared_error;
  int found = 0;
  for (const std::string& last : image_ends)
    found += operations_with("few filters", *cuda::plan(image_network(last), options, 300, false));
  EXPECT_GE(found, 4);
}

INSTANTIATE_TEST_SUITE_P(Batches, CudaImages, ::testing::Values(1, 6, 64, 300),
                         ::testing::PrintToStringParamName());

// A softmax of so many outputs that a block has one sample, with labels and with targets.
TEST(CudaManyClasses, HaveTheCpusGradients) {
  REQUIRE_GPU();
  const model::Network network =
      model::read_keras(R"({"class_name": "Sequential", "config": {"name": "classes", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 40]}},
  {"class_name": "Dense", "config": {"name": "a", "units": 30, "activation": "tanh"}},
  {"class_name": "Dense", "config": {"name": "b", "units": 333, "activation": "softmax"}}]}})",
                        "classes");
  for (const std::int64_t size : {1, 37})
    for (const bool labelled : {true, false}) {
      cuda::Options options;
      options.trainer.loss = labelled ? model::Loss::sparse_categorical_crossentropy
                                      : model::Loss::categorical_crossentropy;
      const auto gpu = cuda::make_trainer(network, options);
      const auto cpu = cpu::make_trainer(network, options.trainer);
      const GoldenBatch batch(network, labelled, size, 0);
      const auto expected = cpu->accumulate(batch.view(), size);
      const auto found = gpu->accumulate(batch.view(), size);
      EXPECT_NEAR(found.loss, expected.loss, 1e-5 * std::abs(expected.loss));
      EXPECT_EQ(found.correct, expected.correct);
      expect_near(gpu->gradients(), cpu->gradients(), 1e-4);
    }
}

INSTANTIATE_TEST_SUITE_P(Batches, CudaFewChannels, ::testing::Values(1, 5, 64, 700),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace sweetspot::engine
