#include <gtest/gtest.h>

#include "engine/golden.h"
#include "engine/near.h"
#include "gpu.h"

// Products with cuBLASLt: large dense layers and 1×1 convolutions.
namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;

// With and without bias, ReLU and dropout; rows that fill no tile; one whose producer writes its
// input as 16-bit terms.
constexpr const char* single_positions =
    R"({"class_name": "Sequential", "config": {"name": "single-positions", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 9, 7, 24]}},
  {"class_name": "Conv2D", "config": {"name": "a", "filters": 264, "kernel_size": [1, 1], "use_bias": false}},
  {"class_name": "BatchNormalization", "config": {"name": "b"}},
  {"class_name": "Conv2D", "config": {"name": "c", "filters": 136, "kernel_size": [1, 1], "activation": "relu"}},
  {"class_name": "Dropout", "config": {"name": "d", "rate": 0.3}},
  {"class_name": "Conv2D", "config": {"name": "e", "filters": 72, "kernel_size": [1, 1], "activation": "relu"}},
  {"class_name": "Flatten", "config": {"name": "f"}},
  {"class_name": "Dense", "config": {"name": "g", "units": 1000, "activation": "tanh"}},
  {"class_name": "Dense", "config": {"name": "h", "units": 1024, "activation": "relu"}},
  {"class_name": "Dropout", "config": {"name": "i", "rate": 0.5}},
  {"class_name": "Dense", "config": {"name": "j", "units": 10, "activation": "softmax"}}]}})";

int by_library(const Plan& plan) { return operations_with("cuBLASLt", plan); }

class CudaMatmul : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    options.precision = GetParam();
    if (by_library(*cuda::plan(network, options, whole, false)) == 0)
      GTEST_SKIP() << "there is no cuBLASLt here";
  }
  static constexpr std::int64_t whole = 900, part = 3;
  const model::Network network = model::read_keras(single_positions, "single-positions");
  cuda::Options options;
};

// No batch normalisation, which would distinguish a batch from its parts.
TEST_P(CudaMatmul, ProductsHaveTheGradientsOfOurOwn) {
  model::Network plain = network;
  std::erase_if(plain.layers, [](const model::Layer& l) { return l.name == "b"; });
  const auto expect_equal = [&](const model::Network& of, double near) {
    EXPECT_GE(by_library(*cuda::plan(of, options, whole, false)), 5);
    EXPECT_EQ(by_library(*cuda::plan(of, options, part, false)), 0);
    const auto at_once = cuda::make_trainer(of, options),
               in_parts = cuda::make_trainer(of, options);
    for (const std::int64_t size : {whole, whole - 7}) {
      const GoldenBatch batch(of, true, size, 0);
      const double expected = in_parts->accumulate(batch.view(), part).loss;
      EXPECT_NEAR(at_once->accumulate(batch.view(), whole).loss, expected, near * expected);
      expect_near(at_once->gradients(), in_parts->gradients(), near);
    }
  };
  expect_equal(plain, 0.1);
  expect_equal(without_edges(plain, model::Activation::linear),
               GetParam() == Precision::bf16 ? 6e-2 : 1e-2);
}

TEST_P(CudaMatmul, ProductsTrainTheSameBitForBitInThePlannedMemory) {
  const auto one = cuda::make_trainer(network, options),
             other = cuda::make_trainer(network, options);
  const GoldenBatch batch(network, true, whole, 0);
  for (int step = 0; step < 3; ++step)
    one->step(batch.view(), whole), other->step(batch.view(), whole);
  const std::vector<Variable> a = one->variables(), b = other->variables();
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(a[i].values, b[i].values) << a[i].parameter.name;
  EXPECT_EQ(one->evaluate(batch.view()).loss, other->evaluate(batch.view()).loss);
  EXPECT_EQ(one->memory(), cuda::plan(network, options, whole, true)->memory());
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaMatmul,
                         ::testing::Values(Precision::tf32, Precision::bf16),
                         [](const auto& p) { return std::string(cuda::name(p.param)); });

}  // namespace
}  // namespace sweetspot::engine
