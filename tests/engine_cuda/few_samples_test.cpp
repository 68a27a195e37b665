#include <gtest/gtest.h>

#include "engine/cpu/cpu.h"
#include "products.h"

// Dense layers of many weights with up to sixteen samples, which have their own kernels.
namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;

// Widths that fill no tile; with and without bias, ReLU, dropout; the first needs no input
// gradient.
constexpr const char* wide = R"({"class_name": "Sequential", "config": {"name": "wide", "layers": [
  {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 1034]}},
  {"class_name": "Dense", "config": {"name": "a", "units": 1102, "activation": "relu"}},
  {"class_name": "Dropout", "config": {"name": "b", "rate": 0.4}},
  {"class_name": "Dense", "config": {"name": "c", "units": 1500, "activation": "tanh", "use_bias": false}},
  {"class_name": "Dense", "config": {"name": "d", "units": 797, "activation": "linear"}},
  {"class_name": "Dense", "config": {"name": "e", "units": 10, "activation": "softmax"}}]}})";

// One whose filters fill no tile; one whose weights are read in the longest pieces, behind one that
// needs no input gradient; one that is barely large enough.
constexpr const char* very_wide[] = {
    R"({"class_name": "Sequential", "config": {"name": "very-wide", "layers": [
    {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 30]}},
    {"class_name": "Dense", "config": {"name": "a", "units": 2061, "activation": "relu"}},
    {"class_name": "Dense", "config": {"name": "b", "units": 2090, "activation": "relu"}},
    {"class_name": "Dense", "config": {"name": "c", "units": 10, "activation": "softmax"}}]}})",
    R"({"class_name": "Sequential", "config": {"name": "long-pieces", "layers": [
    {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 1100]}},
    {"class_name": "Dense", "config": {"name": "a", "units": 2200, "activation": "relu"}},
    {"class_name": "Dropout", "config": {"name": "b", "rate": 0.4}},
    {"class_name": "Dense", "config": {"name": "c", "units": 2048, "activation": "tanh", "use_bias": false}},
    {"class_name": "Dense", "config": {"name": "d", "units": 10, "activation": "softmax"}}]}})",
    R"({"class_name": "Sequential", "config": {"name": "barely", "layers": [
    {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 1030]}},
    {"class_name": "Dense", "config": {"name": "a", "units": 1020, "activation": "relu"}},
    {"class_name": "Dense", "config": {"name": "b", "units": 10, "activation": "softmax"}}]}})"};

// A network whose steps sum all gradients before they update anything: they have a penalty, too
// small to matter.
model::Network summing_first(model::Network network) {
  std::get<model::Dense>(network.layers.back().kind).kernel_regularizer.l2 = 1e-12;
  return network;
}

// What some steps over a batch add to the variables.
std::vector<Variable> learned(const model::Network& network, const cuda::Options& options,
                              std::int64_t size, std::int64_t micro_batch) {
  const auto trainer = cuda::make_trainer(network, options);
  const std::vector<Variable> before = trainer->variables();
  const GoldenBatch batch(network, true, size, 0);
  for (int step = 0; step < 3; ++step) trainer->step(batch.view(), micro_batch);
  std::vector<Variable> after = trainer->variables();
  for (std::size_t p = 0; p < after.size(); ++p)
    for (std::size_t i = 0; i < after[p].values.size(); ++i)
      after[p].values[i] -= before[p].values[i];
  return after;
}

int thin(const Plan& plan) { return operations_with("few samples", plan); }

class CudaThin : public ::testing::TestWithParam<Precision> {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    options.precision = GetParam();
  }
  const model::Network network = model::read_keras(wide, "wide");
  cuda::Options options;
};

// They always compute in fp32; the gradient of the head's weights does not (0.0027 was seen in
// bf16).
TEST_P(CudaThin, ProductsHaveTheCpusGradients) {
  const auto gpu = cuda::make_trainer(network, options);
  const auto cpu = cpu::make_trainer(network, options.trainer);
  for (const std::int64_t size : {1, 3, 4, 5, 16}) {
    SCOPED_TRACE(size);
    ASSERT_EQ(thin(*cuda::plan(network, options, size, false)), 3);
    const GoldenBatch batch(network, true, size, 0);
    const double expected = cpu->accumulate(batch.view(), size).loss;
    EXPECT_NEAR(gpu->accumulate(batch.view(), size).loss, expected, 1e-4 * expected);
    expect_near(gpu->gradients(), cpu->gradients(), GetParam() == Precision::bf16 ? 6e-3 : 2e-3);
  }
}

TEST_P(CudaThin, ProductsTrainTheSameBitForBitInThePlannedMemory) {
  expect_the_same_bit_for_bit(network, options, 16, false);
  for (const char* const json : very_wide)
    for (const std::int64_t size : {4, 16})
      expect_the_same_bit_for_bit(model::read_keras(json, "very-wide"), options, size, false);
}

// So many weights that a step over a whole batch updates them where it computes their gradient; one
// with a penalty sums gradients first. Adam turns the rounding of a small gradient into whole
// steps.
TEST_P(CudaThin, ProductsUpdateInPlaceAsFromGradients) {
  struct Case {
    std::int64_t size, micro_batch;
    Optimizer::Kind kind;
  };
  for (const char* const json : very_wide) {
    const model::Network in_place = model::read_keras(json, "very-wide");
    SCOPED_TRACE(in_place.name);
    for (const Case& made :
         {Case{1, 1, Optimizer::Kind::sgd}, Case{3, 16, Optimizer::Kind::sgd},
          Case{4, 4, Optimizer::Kind::adam}, Case{5, 5, Optimizer::Kind::momentum},
          Case{11, 11, Optimizer::Kind::adam}, Case{16, 16, Optimizer::Kind::sgd}}) {
      SCOPED_TRACE(made.size);
      options.trainer.optimizer.kind = made.kind;
      expect_near(learned(in_place, options, made.size, made.micro_batch),
                  learned(summing_first(in_place), options, made.size, made.micro_batch),
                  made.kind == Optimizer::Kind::adam ? 5e-2 : 2e-3);
    }
  }
}

// In fp16 a layer updates its weights in place, or with cuBLASLt on a branch, if all that can
// overflow comes before, and not when it has; also if that is found on a branch: a layer whose
// input gradient is divided among a cluster has its weight gradient there, and so may the last one.
TEST(CudaThinLossScale, SkipsAnUpdateBeforeTheEnd) {
  REQUIRE_GPU();
  struct Case {
    const char *layers, *astray;
    std::int64_t size;
  };
  const char* const direct = R"(
      {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 2064]}},
      {"class_name": "Dense", "config": {"name": "a", "units": 2064, "activation": "relu"}},
      {"class_name": "Dense", "config": {"name": "b", "units": 2072, "activation": "relu"}},
      {"class_name": "Dense", "config": {"name": "c", "units": 24, "activation": "softmax"}})";
  const char* const on_a_branch = R"(
      {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 1032]}},
      {"class_name": "Dense", "config": {"name": "a", "units": 1024, "activation": "relu"}},
      {"class_name": "Dense", "config": {"name": "b", "units": 256, "activation": "relu"}},
      {"class_name": "Dense", "config": {"name": "c", "units": 10, "activation": "softmax"}})";
  cuda::Options options;
  options.precision = Precision::fp16;
  for (const Case& c : {Case{direct, "c/kernel", 16}, Case{direct, "c/kernel", 64},
                        Case{on_a_branch, "b/kernel", 16}, Case{on_a_branch, "c/kernel", 16}}) {
    SCOPED_TRACE(std::string(c.astray) + " at " + std::to_string(c.size));
    const model::Network network = model::read_keras(
        R"({"class_name": "Sequential", "config": {"name": "overflows", "layers": [)" +
            std::string(c.layers) + "]}}",
        "overflows");
    const auto trainer = cuda::make_trainer(network, options);
    const std::vector<Variable> healthy = trainer->variables();
    std::vector<Variable> astray = healthy;
    for (Variable& v : astray)
      if (v.parameter.name == c.astray)
        for (float& w : v.values) w *= 1e8f;  // beyond fp16
    const GoldenBatch batch(network, true, c.size, 0);
    trainer->assign(astray);
    trainer->step(batch.view(), c.size);
    EXPECT_EQ(trainer->skipped_updates(), 1);
    const std::vector<Variable> after = trainer->variables();
    for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i].values, astray[i].values);
    trainer->assign(healthy);
    trainer->step(batch.view(), c.size);
    EXPECT_EQ(trainer->skipped_updates(), 1);
    EXPECT_NE(trainer->variables().front().values, healthy.front().values);
  }
}

// With so many that cuBLASLt computes the products of sixteen samples, if it does not update.
TEST_P(CudaThin, UpdatesInPlaceBesideCublasLt) {
  const model::Network huge = model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "huge", "layers": [
      {"class_name": "InputLayer", "config": {"name": "input", "batch_shape": [null, 40]}},
      {"class_name": "Dense", "config": {"name": "a", "units": 3608, "activation": "relu"}},
      {"class_name": "Dense", "config": {"name": "b", "units": 3600, "activation": "relu"}},
      {"class_name": "Dropout", "config": {"name": "c", "rate": 0.3}},
      {"class_name": "Dense", "config": {"name": "d", "units": 10, "activation": "softmax"}}]}})",
      "huge");
  if (operations_with("cuBLASLt", *cuda::plan(huge, options, 16, false)) == 0)
    GTEST_SKIP() << "cuBLASLt is not used here";
  options.trainer.optimizer.kind = Optimizer::Kind::sgd;  // Adam turns rounding into whole steps
  for (const std::int64_t size : {16, 9})                 // the second fills no tile
    expect_near(learned(huge, options, size, 16), learned(summing_first(huge), options, size, 16),
                5e-2);
  expect_the_same_bit_for_bit(huge, options, 16, false);
}

TEST(CudaThinPlan, BeginsWhereWeightsAreManyAndSamplesFew) {
  REQUIRE_GPU();
  const model::Network network = model::read_keras(wide, "wide");
  EXPECT_EQ(thin(*cuda::plan(network, {}, 16, false)), 3);
  EXPECT_EQ(thin(*cuda::plan(network, {}, 17, false)), 0);
  EXPECT_EQ(thin(*cuda::plan(model::load_network("paper-cnn"), {}, 1, false)), 0);
}

INSTANTIATE_TEST_SUITE_P(Precisions, CudaThin,
                         ::testing::Values(Precision::fp32, Precision::tf32, Precision::bf16,
                                           Precision::fp16),
                         [](const auto& p) { return std::string(cuda::name(p.param)); });

}  // namespace
}  // namespace sweetspot::engine
