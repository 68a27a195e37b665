#include <gtest/gtest.h>

#include "engine/golden.h"
#include "gpu.h"

// Weight gradients and large updates next to the rest of the backward pass.
namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;

// Every kind of operation with weights; so many weights that updates begin before the backward pass
// ends, and some that are updated in place.
constexpr const char* branching =
    R"({"class_name": "Sequential", "config": {"name": "branching", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 20, 18, 3]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 40, "kernel_size": 3, "padding": "same"}},
  {"class_name": "BatchNormalization", "config": {"name": "b"}},
  {"class_name": "ReLU", "config": {"name": "c"}},
  {"class_name": "Conv2D", "config": {"name": "d", "filters": 64, "kernel_size": 3, "activation": "tanh"}},
  {"class_name": "DepthwiseConv2D", "config": {"name": "e", "kernel_size": 3, "activation": "relu"}},
  {"class_name": "LayerNormalization", "config": {"name": "f"}},
  {"class_name": "Conv2D", "config": {"name": "g", "filters": 136, "kernel_size": 3, "strides": 2, "activation": "relu"}},
  {"class_name": "PReLU", "config": {"name": "h", "shared_axes": [1, 2]}},
  {"class_name": "Conv2D", "config": {"name": "i", "filters": 512, "kernel_size": 3, "padding": "same", "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "j"}},
  {"class_name": "Activation", "config": {"name": "k", "activation": "relu"}},
  {"class_name": "MaxPooling2D", "config": {"name": "l", "pool_size": 2}},
  {"class_name": "Conv2D", "config": {"name": "m", "filters": 520, "kernel_size": 1, "activation": "relu"}},
  {"class_name": "Flatten", "config": {"name": "n"}},
  {"class_name": "Dropout", "config": {"name": "o", "rate": 0.3}},
  {"class_name": "Dense", "config": {"name": "p", "units": 1100, "activation": "relu"}},
  {"class_name": "Dense", "config": {"name": "q", "units": 700, "activation": "sigmoid"}},
  {"class_name": "Dense", "config": {"name": "r", "units": 10, "activation": "softmax"}}]}})";

class CudaBranches : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    options.precision = GetParam();
  }
  void expect_the_same(cuda::ResidentTrainer& one, cuda::ResidentTrainer& other) const {
    const std::vector<Variable> a = one.variables(), b = other.variables();
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(a[i].values, b[i].values) << a[i].parameter.name;
  }
  const model::Network network = model::read_keras(branching, "branching");
  cuda::Options options;
};

// Packed products, cuBLASLt and the kernels for few samples are chosen at different batches.
TEST_P(CudaBranches, TrainAsOneOperationAfterTheOther) {
  for (const std::int64_t size : {1, 5, 16, 96}) {
    SCOPED_TRACE(size);
    const auto branched = cuda::make_trainer(network, options),
               one_by_one = cuda::make_trainer(network, options);
    const GoldenBatch batch(network, true, size, 0);
    for (int step = 0; step < 4; ++step) {
      const double expected = one_by_one->profile(batch.view(), size).result.loss;
      EXPECT_EQ(branched->step(batch.view(), size).loss, expected) << step;
    }
    expect_the_same(*branched, *one_by_one);
    EXPECT_EQ(branched->memory(), cuda::plan(network, options, size, false)->memory());
  }
}

TEST_P(CudaBranches, AreTheSameInGraphs) {
  const auto stepped = cuda::make_trainer(network, options),
             queued = cuda::make_trainer(network, options);
  std::vector<double> expected;
  for (std::uint32_t i = 0; i < 6; ++i) {
    const GoldenBatch batch(network, true, 16, i);
    expected.push_back(stepped->step(batch.view(), 16).loss);
    queued->queue(batch.view(), 16);
  }
  const std::vector<StepResult> found = queued->finish();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].loss, expected[i]) << i;
  expect_the_same(*stepped, *queued);
}

// The gradient's sum over parts, and its norm, need all partial gradients at the end.
TEST_P(CudaBranches, SumGradientsOfParts) {
  const auto one = cuda::make_trainer(network, options),
             other = cuda::make_trainer(network, options);
  const GoldenBatch batch(network, true, 24, 0);
  for (int step = 0; step < 3; ++step) {
    const double expected = one->profile(batch.view(), 8).result.loss;
    EXPECT_EQ(other->step(batch.view(), 8).loss, expected) << step;
  }
  expect_the_same(*one, *other);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaBranches,
                         ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16,
                                           Precision::fp16),
                         [](const auto& p) { return std::string(cuda::name(p.param)); });

}  // namespace
}  // namespace sweetspot::engine
