#include <gtest/gtest.h>

#include "engine/cpu/cpu.h"
#include "products.h"

// Normalisations and depthwise convolutions that read values and gradients of 16 bits, which their
// neighbours write in bf16 and fp16 if there are many rows.
namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;

// Without discontinuities, whose gradients jump with rounding, and without biases in front of
// normalisations, which have no gradient. Depthwise kernels of every kind: 3×3 and 5×5, strided,
// neither; in front of a normalisation, of a product, of another one; features that fill no vector;
// pooling behind a normalisation; a product with a bias, which cuBLASLt cannot store as bf16.
constexpr const char* chain =
    R"({"class_name": "Sequential", "config": {"name": "chain", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 22, 26, 8]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 48, "kernel_size": 3, "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "a-norm"}},
  {"class_name": "Activation", "config": {"name": "a-tanh", "activation": "tanh"}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "b", "kernel_size": 3, "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "b-norm", "center": false}},
  {"class_name": "Activation", "config": {"name": "b-sigmoid", "activation": "sigmoid"}},
  {"class_name": "Conv2D", "config": {"name": "c", "filters": 72, "kernel_size": 1, "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "c-norm"}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "d", "kernel_size": 5, "strides": 2, "padding": "same"}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "e", "kernel_size": [2, 4], "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "e-norm"}},
  {"class_name": "Activation", "config": {"name": "e-tanh", "activation": "tanh"}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "f", "kernel_size": 3, "padding": "same"}},
  {"class_name": "Conv2D", "config": {"name": "g", "filters": 64, "kernel_size": 1}},
  {"class_name": "AveragePooling2D", "config": {"name": "h", "pool_size": 2}},
  {"class_name": "Conv2D", "config": {"name": "i", "filters": 50, "kernel_size": 3, "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "i-norm", "scale": false}},
  {"class_name": "Activation", "config": {"name": "i-tanh", "activation": "tanh"}},
  {"class_name": "GlobalAveragePooling2D", "config": {"name": "j"}},
  {"class_name": "Dense", "config": {"name": "k", "units": 7, "activation": "softmax"}}]}})";

int of_16_bits(const model::Network& network, const cuda::Options& options, std::int64_t batch) {
  return operations_with("of 16 bits", *cuda::plan(network, options, batch, false));
}

class CudaHalfValues : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    options.precision = GetParam();
  }
  static constexpr std::int64_t many = 256;
  const model::Network network = model::read_keras(chain, "chain");
  cuda::Options options;
};

TEST_P(CudaHalfValues, AreReadWhereRowsAreMany) {
  EXPECT_GE(of_16_bits(network, options, many), 6);
  cuda::Options floats = options;
  floats.precision = Precision::tf32;  // two terms have as many bytes as the floats
  EXPECT_EQ(of_16_bits(network, floats, many), 0);
}

TEST_P(CudaHalfValues, HaveTheCpusGradients) {
  const auto gpu = cuda::make_trainer(network, options);
  const auto cpu = cpu::make_trainer(network, options.trainer);
  for (const std::int64_t size : {many, many - 7}) {  // the second fills no tile
    SCOPED_TRACE(size);
    const GoldenBatch batch(network, true, size, 0);
    const double near = GetParam() == Precision::bf16 ? 0.1 : 2e-2;
    const double expected = cpu->accumulate(batch.view(), many).loss;
    EXPECT_NEAR(gpu->accumulate(batch.view(), many).loss, expected, near * expected);
    expect_near(gpu->gradients(), cpu->gradients(), near);
  }
}

TEST_P(CudaHalfValues, TrainTheSameBitForBitInThePlannedMemory) {
  expect_the_same_bit_for_bit(network, options, many, true);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaHalfValues,
                         ::testing::Values(Precision::bf16, Precision::fp16),
                         [](const auto& p) { return std::string(name(p.param)); });

// The gradient of the last convolution's input overflows fp16, and nothing in front of its reader
// rounds: the reader itself must tell.
void expect_a_skipped_update(const std::string& reader) {
  const std::string text =
      R"({"class_name": "Sequential", "config": {"name": "steep", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 18, 18, 3]}},
  {"class_name": "Conv2D", "config": {"name": "first", "filters": 32, "kernel_size": 3, "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "norm"}},
  {"class_name": "Activation", "config": {"name": "tanh", "activation": "tanh"}},)" +
      reader + R"(
  {"class_name": "Conv2D", "config": {"name": "steep", "filters": 64, "kernel_size": 3, "padding": "same", "use_bias": false}},
  {"class_name": "GlobalAveragePooling2D", "config": {"name": "mean"}},
  {"class_name": "Dense", "config": {"name": "last", "units": 10, "activation": "softmax"}}]}})";
  const model::Network network = model::read_keras(text, "steep");
  constexpr std::int64_t size = 256;
  cuda::Options options;
  options.precision = Precision::fp16;
  const auto trainer = cuda::make_trainer(network, options);
  std::vector<Variable> variables = trainer->variables();
  for (Variable& v : variables)
    if (v.parameter.name == "steep/kernel")
      for (std::size_t i = 0; i < v.values.size(); ++i) v.values[i] = i % 3 ? 50'000.f : -50'000.f;
  trainer->assign(variables);
  const double before = trainer->loss_scale();
  const GoldenBatch batch(network, true, size, 0);
  trainer->step(batch.view(), size);
  EXPECT_EQ(trainer->skipped_updates(), 1);
  EXPECT_EQ(trainer->loss_scale(), before / 2);
  const std::vector<Variable> after = trainer->variables();
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!after[i].parameter.trainable) continue;
    EXPECT_EQ(after[i].values, variables[i].values) << after[i].parameter.name;
  }
}

TEST(CudaHalfOverflow, InFrontOfANormalisationSkipsTheUpdate) {
  REQUIRE_GPU();
  expect_a_skipped_update("");
}

TEST(CudaHalfOverflow, InFrontOfADepthwiseConvolutionSkipsTheUpdate) {
  REQUIRE_GPU();
  expect_a_skipped_update(
      R"({"class_name": "DepthwiseConv2D", "config": {"name": "each", "kernel_size": 3, "padding": "same"}},)");
}

}  // namespace
}  // namespace sweetspot::engine
