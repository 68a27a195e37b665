#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/cpu/cpu.h"
#include "products.h"

// Normalisation by one block, by clusters of blocks, and in two kernels, which are chosen by size,
// forward and backward.
namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;

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

// With ReLU and max pooling, fused, whose few jumps disappear in the norm of a gradient; pooled
// features that fill no vector; a normalisation of dense outputs.
constexpr const char* pooled_norms =
    R"({"class_name": "Sequential", "config": {"name": "pooled", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 24, 20, 4]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 64, "kernel_size": 3, "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "b"}},
  {"class_name": "Activation", "config": {"name": "c", "activation": "relu"}},
  {"class_name": "MaxPooling2D", "config": {"name": "d", "pool_size": 2}},
  {"class_name": "Conv2D", "config": {"name": "e", "filters": 37, "kernel_size": 3, "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "f"}},
  {"class_name": "Activation", "config": {"name": "g", "activation": "tanh"}},
  {"class_name": "MaxPooling2D", "config": {"name": "h", "pool_size": 2}},
  {"class_name": "Flatten", "config": {"name": "i"}},
  {"class_name": "Dense", "config": {"name": "j", "units": 600, "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "k"}},
  {"class_name": "Activation", "config": {"name": "l", "activation": "relu"}},
  {"class_name": "Dense", "config": {"name": "m", "units": 7, "activation": "softmax"}}]}})";

int in_clusters(const model::Network& network, std::int64_t batch) {
  return operations_with("in clusters", *cuda::plan(network, {}, batch, false));
}
int in_one_kernel(const model::Network& network, std::int64_t batch) {
  return operations_with("in one kernel", *cuda::plan(network, {}, batch, false));
}

void expect_the_cpus_gradients(const model::Network& network, Precision precision,
                               std::initializer_list<std::int64_t> sizes, double near) {
  cuda::Options options;
  options.precision = precision;
  const auto gpu = cuda::make_trainer(network, options);
  const auto cpu = cpu::make_trainer(network, options.trainer);
  for (const std::int64_t size : sizes) {
    SCOPED_TRACE(size);
    const GoldenBatch batch(network, true, size, 0);
    const double expected = cpu->accumulate(batch.view(), size).loss;
    EXPECT_NEAR(gpu->accumulate(batch.view(), size).loss, expected, near * expected);
    expect_near(gpu->gradients(), cpu->gradients(), near);
  }
}

TEST(CudaNorm, HasTheCpusGradientsAtAnySize) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(normalised, "normalised");
  // 572 rows per sample: one block; clusters, whose last share is not full; two kernels.
  expect_the_cpus_gradients(network, Precision::fp32, {1, 2, 5, 37, 150}, 5e-3);
}

TEST(CudaNorm, HasTheCpusGradientsThroughPooling) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(pooled_norms, "pooled");
  expect_the_cpus_gradients(network, Precision::fp32, {2, 3, 33, 200}, 1e-2);
  expect_the_cpus_gradients(network, Precision::tf32, {16, 150}, 0.1);
  // Values of 16 bits have another maximum more often.
  expect_the_cpus_gradients(network, Precision::fp16, {3, 64, 200}, 0.1);
  expect_the_cpus_gradients(network, Precision::bf16, {3, 64, 200}, 0.35);
}

// The squares of such values have no bits left for their variance.
TEST(CudaNorm, KeepsItsPrecisionFarFromZero) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "far", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 22, 26, 3]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 20, "kernel_size": 3, "padding": "same"}},
  {"class_name": "BatchNormalization", "config": {"name": "b"}},
  {"class_name": "Activation", "config": {"name": "c", "activation": "tanh"}},
  {"class_name": "GlobalAveragePooling2D", "config": {"name": "d"}},
  {"class_name": "Dense", "config": {"name": "e", "units": 7, "activation": "softmax"}}]}})",
      "far");
  const auto gpu = cuda::make_trainer(network, {});
  const auto cpu = cpu::make_trainer(network, {});
  std::vector<Variable> variables = gpu->variables();
  for (Variable& v : variables)
    if (v.parameter.name == "a/bias") std::ranges::fill(v.values, 100.f);
  gpu->assign(variables), cpu->assign(variables);
  for (const std::int64_t size : {1, 20, 400}) {
    SCOPED_TRACE(size);
    const GoldenBatch batch(network, true, size, 0);
    EXPECT_NEAR(gpu->accumulate(batch.view(), size).loss, cpu->accumulate(batch.view(), size).loss,
                1e-3);
    const std::vector<Variable> found = gpu->gradients(), expected = cpu->gradients();
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i].parameter.name != "a/bias") expect_near({found[i]}, {expected[i]}, 2e-2);
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

// Whatever shared memory a size needs: 44 KiB and what else a kernel has once exceeded the 48 that
// need no permission.
TEST(CudaNorm, RunsAtAnySizeInEveryPrecision) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(pooled_norms, "pooled");
  for (const Precision precision :
       {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16}) {
    cuda::Options options;
    options.precision = precision;
    const auto trainer = cuda::make_trainer(network, options);
    for (std::int64_t size = 1; size < 300; size += 1 + size / 4) {
      SCOPED_TRACE(std::string(name(precision)) + " at " + std::to_string(size));
      const GoldenBatch batch(network, true, size, 0);
      EXPECT_TRUE(std::isfinite(trainer->accumulate(batch.view(), size).loss));
    }
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

TEST(CudaNorm, TrainsTheSameBitForBitThroughPoolingAt16Bits) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(pooled_norms, "pooled");
  cuda::Options options;
  options.precision = Precision::bf16;
  for (const std::int64_t size : {3, 64, 300}) {
    SCOPED_TRACE(size);
    expect_the_same_bit_for_bit(network, options, size, true);
  }
}

TEST(CudaNormPlan, UsesClustersBetweenOneBlockAndTwoKernels) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(normalised, "normalised");
  if (in_clusters(network, 4) == 0) GTEST_SKIP() << "this GPU's kernels have no clusters";
  EXPECT_GE(in_one_kernel(network, 1), 1);
  EXPECT_EQ(in_clusters(network, 4), 4);
  EXPECT_EQ(in_one_kernel(network, 4000) + in_clusters(network, 4000), 0);
}

}  // namespace
}  // namespace sweetspot::engine
