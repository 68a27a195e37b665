#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "engine/cpu/cpu.h"
#include "engine/cpu/kernels/kernels.h"
#include "golden.h"
#include "model/keras.h"

namespace sweetspot::engine {
namespace {

using testing::golden_path;
using ::testing::StartsWith;

// The plan's operation for a layer, without the instruction set's name.
std::string method(const std::string& model, const std::string& layer, std::int64_t batch = 16) {
  const model::Network network = model::load_network(model);
  TrainerOptions options;
  options.loss = model::natural_loss(network);
  for (const Operation& operation : cpu::plan(network, options, batch, false)->operations()) {
    EXPECT_THAT(operation.implementation, StartsWith(cpu::kernels().name));
    if (operation.name == layer)
      return operation.implementation.substr(std::string(cpu::kernels().name).size() + 1);
  }
  return "none";
}

TEST(Operations, EveryConvolutionOfTheZooTakesTheFastPath) {
  const char* first = "convolution, ReLU and max pooling, gradients of the winners only";
  const char* second =
      "convolution, ReLU and max pooling by minimal filtering, gradients of the winners only";
  for (const std::string& model : model::zoo_names()) {
    const model::Network network = model::load_network(model);
    for (std::size_t i = 0; i < network.layers.size(); ++i)
      if (std::holds_alternative<model::Conv2D>(network.layers[i].kind)) {
        EXPECT_EQ(method(model, network.layers[i].name), i == 0 ? first : second) << model;
      }
  }
}

TEST(Operations, NetworksOutsideTheZooTakeFastPathsToo) {
  const auto golden = [](const char* name) {
    return golden_path("models/" + std::string(name) + ".json");
  };
  EXPECT_EQ(method(golden("minimal-filtering"), "conv2d_1"), "convolution by minimal filtering");
  EXPECT_EQ(method(golden("kernel-parts"), "strided"), "convolution and ReLU by minimal filtering");
  EXPECT_EQ(method(golden("kernel-parts"), "large"), "convolution by minimal filtering");
  for (const char* layer : {"eight", "strided"})
    EXPECT_EQ(method(golden("flat-filters"), layer), "convolution by minimal filtering") << layer;
  EXPECT_EQ(method(golden("few-positions"), "matrix"),
            "convolution and ReLU of several samples as one matrix");
  EXPECT_EQ(method(golden("transposed"), "large"),
            "transposed convolution and ReLU of several samples as one matrix");
  EXPECT_EQ(method(golden("transposed"), "odd"), "transposed convolution and ReLU");
  EXPECT_EQ(method(golden("to-few-channels"), "three"), "transposed convolution and ReLU");
  for (const char* layer : {"even", "valid"})
    EXPECT_EQ(method(golden("to-few-channels"), layer), "transposed convolution") << layer;
}

TEST(Operations, FewPositionsOfABatchShareLargeWeights) {
  const std::string model = golden_path("models/small-images.json");
  EXPECT_EQ(method(model, "conv2d_2", 16), "convolution of all samples as one product");
  EXPECT_EQ(method(model, "conv2d_2", 256), "convolution of several samples as one matrix");
  EXPECT_EQ(method(golden_path("models/few-positions.json"), "whole", 1024),
            "convolution and ReLU of all samples as one product");
}

TEST(Operations, EachLayerIsToldOnce) {
  for (const char* name : {"norm-blocks", "small-images"}) {
    const model::Network network =
        model::load_network(golden_path("models/" + std::string(name) + ".json"));
    std::set<std::string> names;
    for (const Operation& operation : cpu::plan(network, {}, 16, false)->operations())
      EXPECT_TRUE(operation.implementation.ends_with("activation") ||
                  names.insert(operation.name).second)
          << name << ": " << operation.name;
  }
}

TEST(Operations, BatchNormalisationTakesTheReluBehindIt) {
  const model::Network network = model::load_network(golden_path("models/norm-blocks.json"));
  for (const Operation& operation : cpu::plan(network, {}, 16, false)->operations())
    EXPECT_THAT(operation.name, ::testing::Not(StartsWith("activation")));
}

TEST(Operations, ActivationsAndLossAreFused) {
  const model::Network network = model::load_network("paper-cnn");
  const auto operations = cpu::plan(network, {}, 16, false)->operations();
  std::vector<std::string> names;
  for (const Operation& operation : operations) names.push_back(operation.implementation);
  // Two convolutions with their pooling, two dropouts, two dense layers, the loss.
  EXPECT_EQ(operations.size(), 7u);
  EXPECT_THAT(names, ::testing::Contains(::testing::EndsWith("dense and ReLU")));
  EXPECT_THAT(names.back(), ::testing::EndsWith("softmax and loss"));
}

}  // namespace
}  // namespace sweetspot::engine
