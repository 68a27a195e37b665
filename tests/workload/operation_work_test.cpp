#include <gtest/gtest.h>

#include "model/counts.h"
#include "model/keras.h"
#include "workload/native/operation_work.h"

namespace sweetspot::workload::native {
namespace {

using engine::Operation;

// 6×6×2 → convolution to 4×4×3 with tanh → max pooling to 2×2×3 → flatten → 5.
model::Network network() {
  return model::read_keras(R"({"class_name": "Sequential", "config": {"name": "n", "layers": [
    {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 6, 6, 2]}},
    {"class_name": "Conv2D", "config": {"name": "conv", "filters": 3, "kernel_size": 3,
                                        "activation": "tanh"}},
    {"class_name": "MaxPooling2D", "config": {"name": "pool"}},
    {"class_name": "Flatten", "config": {"name": "flatten"}},
    {"class_name": "Dense", "config": {"name": "dense", "units": 5, "activation": "softmax"}}]}})",
                           "n");
}
constexpr double kernel = 3 * 3 * 2 * 3 + 3, matrix = 12 * 5 + 5;  // weights with their biases

const std::vector<Operation> apart{{"conv", "convolution"},      {"conv", "activation"},
                                   {"pool", "max pooling"},      {"dense", "dense", true},
                                   {"loss", "softmax and loss"}, {"weights", "update"}};
const trial::Setting batch_of_4{.batch = 4};
constexpr auto adam = engine::Optimizer::Kind::adam;

TEST(LeastWork, CountsWhatEachOperationReadsAndWrites) {
  const auto work = least_work(network(), apart, batch_of_4, adam);
  ASSERT_EQ(work.size(), apart.size());
  // The input twice, since its gradient is not needed; the output and its gradient; the weights.
  EXPECT_EQ(work[0].bytes, 4 * (4 * (2 * 72 + 2 * 48) + 3 * kernel));
  EXPECT_EQ(work[1].bytes, 4 * 4 * 5 * 48);
  EXPECT_EQ(work[2].bytes, 4 * 4 * 2 * (48 + 12));
  // What follows it costs nothing; the update is included: seven floats for Adam.
  EXPECT_EQ(work[3].bytes, 4 * (4 * (3 * 12 + 2 * 5) + 10 * matrix));
  EXPECT_EQ(work[4].bytes, 4 * 4 * 2 * 5);
  EXPECT_EQ(work[5].bytes, 4 * 7 * kernel) << "of what nobody updates itself";
}

TEST(LeastWork, HasTheArithmeticOfTheLayersThatRunTogether) {
  const model::Network net = network();
  const std::vector<Operation> together{
      {"conv", "convolution, tanh and max pooling"}, {"dense", "head"}, {"weights", "update"}};
  const auto work = least_work(net, together, batch_of_4, adam);
  const auto flops = [&](std::size_t layer) {
    return 4 * static_cast<double>(model::counts(net, layer).training_flops);
  };
  EXPECT_EQ(work[0].flops, flops(0) + flops(1) + flops(2));
  EXPECT_EQ(work[0].bytes, 4 * (4 * (2 * 72 + 2 * 12) + 3 * kernel)) << "nothing between is stored";
  EXPECT_EQ(work[1].flops, flops(3));
  EXPECT_EQ(work[2].bytes, 4 * 7 * (kernel + matrix)) << "all of them";
}

TEST(LeastWork, AccumulationReadsWeightsAgainAndLeavesTheUpdateToTheEnd) {
  const auto work = least_work(network(), apart, {.batch = 4, .accumulation = 2}, adam);
  EXPECT_EQ(work[3].bytes, 4 * (4 * (3 * 12 + 2 * 5) + 5 * matrix));
  EXPECT_EQ(work[5].bytes, 4 * 7 * (kernel + matrix));
}

// A separable convolution is two internal layers under one name, and its activation a third
// operation.
TEST(LeastWork, KnowsTheOperationsOfLayersUnderOneNameApart) {
  const model::Network net = model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "n", "layers": [
    {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 6, 6, 2]}},
    {"class_name": "SeparableConv2D", "config": {"name": "conv", "filters": 3, "kernel_size": 3,
                                                 "activation": "tanh"}},
    {"class_name": "Flatten", "config": {"name": "flatten"}},
    {"class_name": "Dense", "config": {"name": "dense", "units": 5, "activation": "softmax"}}]}})",
      "n");
  const std::vector<Operation> operations{
      {"input", "copy"},       {"conv", "depthwise convolution"},
      {"conv", "convolution"}, {"conv", "activation"},
      {"dense", "dense"},      {"loss", "softmax and loss"},
      {"weights", "update"}};
  const auto work = least_work(net, operations, batch_of_4, adam);
  constexpr double filters = 3 * 3 * 2, pointwise = 2 * 3 + 3;
  EXPECT_EQ(work[1].bytes, 4 * (4 * (2 * 72 + 2 * 32) + 3 * filters));
  EXPECT_EQ(work[2].bytes, 4 * (4 * (3 * 32 + 2 * 48) + 3 * pointwise));
  EXPECT_EQ(work[3].bytes, 4 * 4 * 5 * 48);
  EXPECT_EQ(work[4].flops, 4 * static_cast<double>(model::counts(net, 3).training_flops));
}

// Zeros between and around the positions, and their convolution, under one name.
TEST(LeastWork, OfATransposedConvolutionReadsNoZeros) {
  const model::Network net = model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "n", "layers": [
    {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 4, 4, 2]}},
    {"class_name": "Conv2DTranspose", "config": {"name": "up", "filters": 3, "kernel_size": 2,
                                                 "strides": 2, "activation": "tanh"}},
    {"class_name": "Flatten", "config": {"name": "flatten"}},
    {"class_name": "Dense", "config": {"name": "dense", "units": 5, "activation": "softmax"}}]}})",
      "n");
  const std::vector<Operation> whole{{"input", "copy"},    {"up", "transposed convolution"},
                                     {"up", "activation"}, {"dense", "dense"},
                                     {"loss", ""},         {"weights", ""}};
  const auto work = least_work(net, whole, batch_of_4, adam);
  constexpr double in = 4 * 4 * 2, out = 8 * 8 * 3, weights = 2 * 2 * 3 * 2 + 3;
  EXPECT_EQ(work[1].bytes, 4 * (4 * (3 * in + 2 * out) + 3 * weights));
  EXPECT_EQ(work[1].flops, 4 * static_cast<double>(model::counts(net, 1).training_flops));
  EXPECT_EQ(work[2].bytes, 4 * 4 * 5 * out);
}

TEST(LeastWork, IsSharedByTheOperationsOfOneNormalisation) {
  const model::Network net = model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "n", "layers": [
    {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 6, 6, 2]}},
    {"class_name": "Conv2D", "config": {"name": "conv", "filters": 3, "kernel_size": 3}},
    {"class_name": "BatchNormalization", "config": {"name": "norm"}},
    {"class_name": "Flatten", "config": {"name": "flatten"}},
    {"class_name": "Dense", "config": {"name": "dense", "units": 5, "activation": "softmax"}}]}})",
      "n");
  const std::vector<Operation> whole{
      {"conv", ""}, {"norm", ""}, {"dense", ""}, {"loss", ""}, {"weights", ""}};
  const std::vector<Operation> parts{{"conv", ""},  {"norm", ""}, {"norm", ""},   {"norm", ""},
                                     {"dense", ""}, {"loss", ""}, {"weights", ""}};
  const auto one = least_work(net, whole, batch_of_4, adam);
  const auto three = least_work(net, parts, batch_of_4, adam);
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_DOUBLE_EQ(three[i].bytes, one[1].bytes / 3);
    EXPECT_DOUBLE_EQ(three[i].flops, one[1].flops / 3);
  }
  EXPECT_EQ(three[4].bytes, one[2].bytes);
}

TEST(LeastWork, PlainDescentMovesLess) {
  const auto work = least_work(network(), apart, batch_of_4, engine::Optimizer::Kind::sgd);
  EXPECT_EQ(work[5].bytes, 4 * 3 * kernel);
}

}  // namespace
}  // namespace sweetspot::workload::native
