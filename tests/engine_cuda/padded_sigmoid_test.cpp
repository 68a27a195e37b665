#include <gtest/gtest.h>

#include "products.h"

// A sigmoid behind a product runs in the product's kernel, also if its units are padded: it is not
// zero where its input is, but the padding must be.
namespace sweetspot::engine {
namespace {

using namespace testing;

// Units and filters that fill no vector: few channels, tiles, packed operands, and, of up to 16
// samples, a million weights.
model::Network sigmoids() {
  return model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "sigmoids", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 11, 9, 2]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 13, "kernel_size": 3, "padding": "same", "activation": "sigmoid"}},
  {"class_name": "Conv2D", "config": {"name": "b", "filters": 41, "kernel_size": 3, "activation": "sigmoid"}},
  {"class_name": "Conv2D", "config": {"name": "c", "filters": 43, "kernel_size": 3, "activation": "sigmoid"}},
  {"class_name": "Flatten", "config": {"name": "d"}},
  {"class_name": "Dense", "config": {"name": "e", "units": 1037, "activation": "sigmoid"}},
  {"class_name": "Dense", "config": {"name": "f", "units": 30, "activation": "sigmoid"}},
  {"class_name": "Dense", "config": {"name": "g", "units": 7, "activation": "softmax"}}]}})",
      "sigmoids");
}

class CudaPaddedSigmoid : public ::testing::TestWithParam<int> {};

TEST_P(CudaPaddedSigmoid, HasTheGradientsOfTheCpuWithoutAPassOfItsOwn) {
  REQUIRE_GPU();
  const model::Network network = sigmoids();
  EXPECT_EQ(operations_with("activation", *cuda::plan(network, {}, GetParam(), false)), 0);
  expect_the_cpus_gradients_in_every_precision(network, GetParam());
}

// What padding had of a step would reach other weights in the next.
TEST_P(CudaPaddedSigmoid, TrainsAsTheCpuDoes) {
  REQUIRE_GPU();
  const model::Network network = sigmoids();
  cuda::Options options;
  options.trainer.optimizer.kind = Optimizer::Kind::sgd;
  options.trainer.optimizer.learning_rate = 0.5;  // at which such weights would count
  const auto gpu = cuda::make_trainer(network, options);
  const auto cpu = cpu::make_trainer(network, options.trainer);
  for (int step = 0; step < 3; ++step) {
    const GoldenBatch batch(network, true, GetParam(), step);
    const double expected = cpu->step(batch.view(), GetParam()).loss;
    EXPECT_NEAR(gpu->step(batch.view(), GetParam()).loss, expected, 2e-4 * expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Batches, CudaPaddedSigmoid, ::testing::Values(1, 16, 130, 900),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace sweetspot::engine
