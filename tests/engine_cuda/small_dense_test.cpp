#include <gtest/gtest.h>

#include "engine/cpu/cpu.h"
#include "products.h"

// Dense layers of few weights with up to sixteen samples, with the normalisation behind them.
namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;

// Widths that fill no tile; with and without bias, ReLU, dropout, functions; normalisations with
// every activation, with and without scale and shift.
constexpr const char* narrow =
    R"({"class_name": "Sequential", "config": {"name": "narrow", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 45]}},
  {"class_name": "Dense", "config": {"name": "a", "units": 150, "activation": "linear", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "b"}},
  {"class_name": "Activation", "config": {"name": "c", "activation": "tanh"}},
  {"class_name": "Dense", "config": {"name": "d", "units": 70, "activation": "relu"}},
  {"class_name": "Dropout", "config": {"name": "e", "rate": 0.2}},
  {"class_name": "Dense", "config": {"name": "f", "units": 531, "activation": "sigmoid"}},
  {"class_name": "Dense", "config": {"name": "g", "units": 33, "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "h", "center": false}},
  {"class_name": "Activation", "config": {"name": "i", "activation": "sigmoid"}},
  {"class_name": "Dense", "config": {"name": "j", "units": 18, "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "k", "scale": false}},
  {"class_name": "Dense", "config": {"name": "l", "units": 11, "activation": "tanh"}},
  {"class_name": "Dropout", "config": {"name": "m", "rate": 0.1}},
  {"class_name": "Dense", "config": {"name": "n", "units": 5, "activation": "softmax"}}]}})";

int few_weights(const Plan& plan) { return operations_with("few weights", plan); }

class CudaSmallDense : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    options.precision = GetParam();
  }
  const model::Network network = model::read_keras(narrow, "narrow");
  cuda::Options options;
};

// They compute in fp32 whatever the precision; the gradient of the head's weights does not, nor do,
// with more than four samples, the layers without a normalisation.
TEST_P(CudaSmallDense, HasTheCpusGradients) {
  const auto gpu = cuda::make_trainer(network, options);
  const auto cpu = cpu::make_trainer(network, options.trainer);
  for (const std::int64_t size : {2, 3, 4, 5, 11, 16}) {
    SCOPED_TRACE(size);
    ASSERT_EQ(few_weights(*cuda::plan(network, options, size, false)), size <= 4 ? 6 : 3);
    const GoldenBatch batch(network, true, size, 0);
    const bool rounds = GetParam() != Precision::fp32 && size > 4;
    const double expected = cpu->accumulate(batch.view(), size).loss;
    EXPECT_NEAR(gpu->accumulate(batch.view(), size).loss, expected,
                (rounds ? 5e-3 : 1e-4) * expected);
    expect_near(gpu->gradients(), cpu->gradients(),
                rounds                          ? 0.1
                : GetParam() == Precision::bf16 ? 6e-3
                                                : 2e-3);
  }
}

// One sample has no variance: its normalised value is the shift.
TEST_P(CudaSmallDense, TrainsOnOneSample) {
  const auto gpu = cuda::make_trainer(network, options);
  const auto cpu = cpu::make_trainer(network, options.trainer);
  const GoldenBatch batch(network, true, 1, 0);
  for (int step = 0; step < 4; ++step) {
    const double expected = cpu->step(batch.view(), 1).loss;
    EXPECT_NEAR(gpu->step(batch.view(), 1).loss, expected, 1e-3 * expected) << step;
  }
  // Evaluation rounds its operands.
  EXPECT_NEAR(gpu->evaluate(batch.view()).loss, cpu->evaluate(batch.view()).loss, 5e-3);
}

TEST_P(CudaSmallDense, TrainsTheSameBitForBitInThePlannedMemory) {
  for (const std::int64_t size : {1, 16}) expect_the_same_bit_for_bit(network, options, size, true);
}

TEST(CudaSmallDensePlan, TakesMoreSamplesWithANormalisation) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(narrow, "narrow");
  EXPECT_EQ(few_weights(*cuda::plan(network, {}, 4, false)), 6);
  EXPECT_EQ(few_weights(*cuda::plan(network, {}, 5, false)), 3);
  EXPECT_EQ(few_weights(*cuda::plan(network, {}, 16, false)), 3);
  EXPECT_EQ(few_weights(*cuda::plan(network, {}, 17, false)), 0);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaSmallDense,
                         ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16,
                                           Precision::fp16),
                         [](const auto& p) { return std::string(cuda::name(p.param)); });

}  // namespace
}  // namespace sweetspot::engine
