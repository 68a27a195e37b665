#include <gtest/gtest.h>

#include "core/random.h"
#include "engine/cpu/cpu.h"
#include "golden.h"

namespace sweetspot::engine {
namespace {

using namespace testing;

// A layer between a convolution and a dense layer, so that gradients pass through it.
std::string network_with(const std::string& layer) {
  return R"({"class_name": "Sequential", "config": {"name": "check", "layers": [
    {"class_name": "InputLayer", "config": {"batch_input_shape": [null, 9, 8, 2], "name": "input"}},
    {"class_name": "Conv2D", "config": {"name": "first", "filters": 5, "kernel_size": [2, 3], "activation": "tanh"}},)" +
         layer +
         R"({"class_name": "Flatten", "config": {"name": "flatten"}},
    {"class_name": "Dense", "config": {"name": "last", "units": 3, "activation": "softmax"}}]}, "keras_version": "2.11.0"})";
}

// The slope of the loss along a random direction in weight space, from the gradients and from
// finite differences.
void check(const std::string& layer) {
  SCOPED_TRACE(layer);
  const model::Network network = model::read_keras(network_with(layer), "check.json");
  TrainerOptions options;
  const auto trainer = cpu::make_trainer(network, options);
  const GoldenBatch batch(network, true, 6, 0);
  std::vector<Variable> start = trainer->variables();
  trainer->accumulate(batch.view(), 6);
  const std::vector<Variable> gradients = trainer->gradients();
  for (std::size_t v = 0, g = 0; v < start.size(); ++v) {
    if (!start[v].parameter.trainable) continue;
    SCOPED_TRACE(start[v].parameter.name);
    const core::Random random(5, core::Purpose::synthetic, 0, static_cast<std::uint32_t>(v));
    std::vector<float> direction;
    double slope = 0;
    for (std::size_t i = 0; i < start[v].values.size(); ++i) {
      direction.push_back(random.uniform(i) < 0.5f ? -1.f : 1.f);
      slope += static_cast<double>(direction[i]) * gradients[g].values[i];
    }
    // Small enough that few ReLUs and maxima switch, large enough for fp32.
    const float distance = 2e-3f / std::sqrt(static_cast<float>(direction.size()));
    const auto loss_at = [&](float sign) {
      std::vector<Variable> moved = start;
      for (std::size_t i = 0; i < direction.size(); ++i)
        moved[v].values[i] += sign * distance * direction[i];
      trainer->assign(moved);
      return trainer->accumulate(batch.view(), 6).loss;
    };
    const double measured = (loss_at(1) - loss_at(-1)) / (2 * distance);
    EXPECT_NEAR(measured, slope, 0.02 * std::abs(slope) + 2e-3);
    ++g;
  }
}

TEST(GradientCheck, EachLayerKind) {
  check("");
  check(
      R"({"class_name": "Conv2D", "config": {"name": "c", "filters": 4, "kernel_size": [3, 3]}},)");
  check(
      R"({"class_name": "Conv2D", "config": {"name": "c", "filters": 18, "kernel_size": [3, 2], "strides": [2, 2], "padding": "same", "use_bias": false}},)");
  check(
      R"({"class_name": "Conv2D", "config": {"name": "c", "filters": 4, "kernel_size": [3, 3], "padding": "same"}},
           {"class_name": "MaxPooling2D", "config": {"name": "p", "pool_size": [2, 2]}},)");
  check(
      R"({"class_name": "Conv2D", "config": {"name": "c", "filters": 4, "kernel_size": [7, 7], "padding": "same"}},
           {"class_name": "Conv2D", "config": {"name": "d", "filters": 10, "kernel_size": [5, 1], "strides": [2, 1]}},)");
  check(
      R"({"class_name": "Conv2D", "config": {"name": "c", "filters": 19, "kernel_size": [3, 3]}},
           {"class_name": "Flatten", "config": {"name": "f"}},
           {"class_name": "Dense", "config": {"name": "d", "units": 70, "activation": "tanh"}},)");
  check(R"({"class_name": "MaxPooling2D", "config": {"name": "p", "pool_size": [2, 2]}},)");
  check(
      R"({"class_name": "MaxPooling2D", "config": {"name": "p", "pool_size": [3, 3], "strides": [2, 2], "padding": "same"}},)");
  check(
      R"({"class_name": "AveragePooling2D", "config": {"name": "p", "pool_size": [2, 3], "strides": [1, 2]}},)");
  check(R"({"class_name": "GlobalAveragePooling2D", "config": {"name": "g"}},)");
  check(R"({"class_name": "Dropout", "config": {"name": "d", "rate": 0.4}},)");
  check(R"({"class_name": "BatchNormalization", "config": {"name": "b"}},)");
  check(
      R"({"class_name": "Flatten", "config": {"name": "f"}}, {"class_name": "BatchNormalization", "config": {"name": "b"}},)");
  for (const char* function :
       {"relu", "sigmoid", "tanh", "linear", "elu", "selu", "gelu", "gelu_new", "swish", "softplus",
        "softsign", "exponential", "hard_sigmoid", "leaky_relu", "relu6"})
    check(std::string(R"({"class_name": "Activation", "config": {"name": "a", "activation": ")") +
          function + R"("}},)");
  check(R"({"class_name": "ReLU", "config": {"name": "r"}},)");
  check(
      R"({"class_name": "DepthwiseConv2D", "config": {"name": "c", "kernel_size": [3, 2], "strides": [2, 1], "padding": "same", "depth_multiplier": 2}},)");
  check(
      R"({"class_name": "SeparableConv2D", "config": {"name": "c", "filters": 6, "kernel_size": 3, "activation": "tanh"}},)");
  check(
      R"({"class_name": "Conv2DTranspose", "config": {"name": "c", "filters": 2, "kernel_size": 2, "strides": [1, 2]}},)");
  check(R"({"class_name": "PReLU", "config": {"name": "p", "shared_axes": [1, 2]}},)");
  check(R"({"class_name": "PReLU", "config": {"name": "p", "shared_axes": [3]}},)");
  check(R"({"class_name": "LayerNormalization", "config": {"name": "n"}},)");
  check(R"({"class_name": "GaussianNoise", "config": {"name": "n", "stddev": 0.5}},)");
  check(R"({"class_name": "SpatialDropout2D", "config": {"name": "d", "rate": 0.4}},)");
  check(
      R"({"class_name": "ZeroPadding2D", "config": {"name": "z", "padding": 1}}, {"class_name": "UpSampling2D", "config": {"name": "u", "size": 2}}, {"class_name": "Cropping2D", "config": {"name": "c", "cropping": 2}}, {"class_name": "Permute", "config": {"name": "p", "dims": [3, 1, 2]}},)");
  check(
      R"({"class_name": "Flatten", "config": {"name": "f"}}, {"class_name": "Dense", "config": {"name": "h", "units": 19, "activation": "sigmoid"}},)");
}

// From batch 17 on the weights are transposed, large ones a panel at a time, and from batch 128 on
// rows are packed; below that everything is read in place.
TEST(WideDenseLayers, HaveTheSameGradientsAtEveryMicroBatch) {
  const char* keras = R"({"class_name": "Sequential", "config": {"name": "wide", "layers": [
      {"class_name": "Dense", "config": {"name": "a", "units": 530, "activation": "relu",
                                         "batch_input_shape": [null, 40]}},
      {"class_name": "Dense", "config": {"name": "b", "units": 520, "activation": "tanh"}},
      {"class_name": "Dense", "config": {"name": "c", "units": 3, "activation": "softmax"}}]}})";
  const model::Network network = model::read_keras(keras, "wide.json");
  TrainerOptions options;
  options.threads = 3;
  const auto trainer = cpu::make_trainer(network, options);
  const GoldenBatch batch(network, true, 150, 0);
  trainer->accumulate(batch.view(), 10);
  const std::vector<Variable> expected = trainer->gradients();
  for (const std::int64_t micro_batch : {50, 150}) {
    trainer->accumulate(batch.view(), micro_batch);
    const std::vector<Variable> found = trainer->gradients();
    for (std::size_t v = 0; v < found.size(); ++v) {
      float largest = 0, apart = 0;
      for (std::size_t i = 0; i < found[v].values.size(); ++i) {
        largest = std::max(largest, std::abs(expected[v].values[i]));
        apart = std::max(apart, std::abs(expected[v].values[i] - found[v].values[i]));
      }
      EXPECT_LT(apart, 2e-5f * largest) << found[v].parameter.name << " at " << micro_batch;
    }
  }
}

}  // namespace
}  // namespace sweetspot::engine
