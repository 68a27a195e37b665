#include <gtest/gtest.h>

#include "engine/cpu/cpu.h"
#include "products.h"

// Normalisation by one block, by clusters of blocks, and in two kernels, which are chosen by size.
namespace sweetspot::engine {
namespace {

using namespace testing;

// Without discontinuities, whose gradients jump with rounding, and without biases in front of
// normalisations, which have no gradient; features that fill no vector, and more vectors than a
// warp has lanes.
constexpr const char* normalised =
    R"({"class_name": "Sequential", "config": {"name": "normalised", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 22, 26, 3]}},
  {"class_name": "BatchNormalization", "config": {"name": "a"}},
  {"class_name": "Conv2D", "config": {"name": "b", "filters": 18, "kernel_size": 3, "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "c", "center": false}},
  {"class_name": "Activation", "config": {"name": "d", "activation": "tanh"}},
  {"class_name": "Conv2D", "config": {"name": "e", "filters": 150, "kernel_size": 1, "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "f"}},
  {"class_name": "Activation", "config": {"name": "g", "activation": "sigmoid"}},
  {"class_name": "AveragePooling2D", "config": {"name": "h", "pool_size": 2}},
  {"class_name": "Conv2D", "config": {"name": "i", "filters": 6, "kernel_size": 3, "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "j", "scale": false}},
  {"class_name": "Activation", "config": {"name": "k", "activation": "tanh"}},
  {"class_name": "GlobalAveragePooling2D", "config": {"name": "m"}},
  {"class_name": "Dense", "config": {"name": "l", "units": 7, "activation": "softmax"}}]}})";

int in_clusters(const model::Network& network, std::int64_t batch) {
  return operations_with("in clusters", *cuda::plan(network, {}, batch, false));
}

TEST(CudaNorm, HasTheCpusGradientsAtAnySize) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(normalised, "normalised");
  const auto gpu = cuda::make_trainer(network, {});
  const auto cpu = cpu::make_trainer(network, {});
  // 572 rows per sample: one block; clusters, whose last share is not full; two kernels.
  for (const std::int64_t size : {2, 4, 5, 37, 150}) {
    SCOPED_TRACE(size);
    const GoldenBatch batch(network, true, size, 0);
    const double expected = cpu->accumulate(batch.view(), size).loss;
    EXPECT_NEAR(gpu->accumulate(batch.view(), size).loss, expected, 1e-4 * expected);
    expect_near(gpu->gradients(), cpu->gradients(), 5e-3);
  }
}

TEST(CudaNorm, TrainsTheSameBitForBitInThePlannedMemory) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(normalised, "normalised");
  for (const std::int64_t size : {2, 16, 150}) {
    SCOPED_TRACE(size);
    expect_the_same_bit_for_bit(network, {}, size, true);
  }
}

// The rest of an epoch.
TEST(CudaNorm, TrainsOnFewerSamplesThanPlanned) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(normalised, "normalised");
  const auto planned = cuda::make_trainer(network, {}), fitting = cuda::make_trainer(network, {});
  const GoldenBatch batch(network, true, 3, 0);
  const double expected = fitting->accumulate(batch.view(), 3).loss;
  EXPECT_NEAR(planned->accumulate(batch.view(), 40).loss, expected, 1e-5 * expected);
  expect_near(planned->gradients(), fitting->gradients(), 5e-3);
}

TEST(CudaNormPlan, UsesClustersBetweenOneBlockAndTwoKernels) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(normalised, "normalised");
  if (in_clusters(network, 16) == 0) GTEST_SKIP() << "this GPU's kernels have no clusters";
  EXPECT_EQ(in_clusters(network, 2), 0);
  EXPECT_EQ(in_clusters(network, 16), 4);
  EXPECT_EQ(in_clusters(network, 4000), 0);
}

}  // namespace
}  // namespace sweetspot::engine
