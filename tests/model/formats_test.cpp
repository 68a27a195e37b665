// The same model from every program that writes Keras' JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/keras.h"
#include "support.h"

namespace sweetspot::model {
namespace {

class PaperCnn : public testing::TestWithParam<const char*> {};

TEST_P(PaperCnn, IsTheZoosWhoeverWroteIt) {
  EXPECT_EQ(describe(read_keras(fixture(GetParam()), GetParam())),
            describe(load_network("paper-cnn")));
}
INSTANTIATE_TEST_SUITE_P(Formats, PaperCnn,
                         testing::Values("keras/keras2-paper-cnn.json",
                                         "keras/keras3-paper-cnn.json", "tfjs/paper-cnn.json",
                                         "tfjs/paper-cnn.string.json", "tfjs/paper-cnn.saved.json",
                                         "tfjs/paper-cnn.camel.json"));

TEST(Formats, KeepsNames) {
  const Network network = read_keras(fixture("keras/keras3-paper-cnn.json"), "keras3");
  EXPECT_EQ(network.name, "sequential");
  EXPECT_EQ(network.layers.front().name, "conv2d");
  EXPECT_EQ(network.layers.back().name, "dense_1");
}

TEST(Formats, ReadsEveryLayerOfTfjs) {
  const Network network = read_keras(fixture("tfjs/every-layer.json"), "every-layer");
  std::vector<std::string> names, outputs;
  for (const Layer& layer : network.layers) {
    names.push_back(layer.name);
    outputs.push_back(to_string(layer.output));
  }
  EXPECT_THAT(names, testing::ElementsAre("conv", "norm", "relu", "average", "tanh", "narrow",
                                          "max", "global", "dropout", "dense", "softmax"));
  EXPECT_THAT(outputs, testing::ElementsAre("9×16×8", "9×16×8", "9×16×8", "9×8×8", "9×8×8", "8×7×6",
                                            "3×2×6", "6", "6", "5", "5"));
  const auto& conv = std::get<Conv2D>(network.layers[0].kind);
  EXPECT_EQ(conv.kernel, (Window{3, 5}));
  EXPECT_EQ(conv.strides, (Window{2, 1}));
  EXPECT_EQ(conv.padding, Padding::same);
  EXPECT_FALSE(conv.use_bias);
  const auto& norm = std::get<BatchNormalization>(network.layers[1].kind);
  EXPECT_EQ(norm.momentum, 0.9);
  EXPECT_EQ(norm.epsilon, 0.0001);
  EXPECT_EQ(norm.gamma_initializer.kind, Initializer::Kind::ones);
  EXPECT_EQ(std::get<Pooling2D>(network.layers[3].kind).kind, Pooling2D::Kind::average);
  EXPECT_EQ(std::get<Pooling2D>(network.layers[6].kind).kind, Pooling2D::Kind::max);
  EXPECT_EQ(std::get<Pooling2D>(network.layers[6].kind).strides, (Window{3, 3}));
  EXPECT_EQ(std::get<Conv2D>(network.layers[5].kind).activation, Activation::sigmoid);
  EXPECT_EQ(std::get<Dropout>(network.layers[8].kind).rate, 0.125);
  EXPECT_EQ(natural_loss(network), Loss::sparse_categorical_crossentropy);
}

using Kind = Initializer::Kind;
using Mode = Initializer::Mode;
using Distribution = Initializer::Distribution;

void expect_scaling(const Initializer& got, double scale, Mode mode, Distribution distribution) {
  EXPECT_EQ(got.kind, Kind::variance_scaling);
  EXPECT_EQ(got.scale, scale);
  EXPECT_EQ(got.mode, mode);
  EXPECT_EQ(got.distribution, distribution);
}

TEST(Formats, ReadsEveryInitializerOfTfjs) {
  const Network network = read_keras(fixture("tfjs/every-initializer.json"), "every-initializer");
  const auto of = [&](std::string_view name) {
    for (const Layer& layer : network.layers)
      if (layer.name == name) return std::get<Dense>(layer.kind).kernel_initializer;
    ADD_FAILURE() << name;
    return Initializer{};
  };
  EXPECT_EQ(of("zeros").kind, Kind::zeros);
  EXPECT_EQ(of("ones").kind, Kind::ones);
  EXPECT_EQ(of("randomNormal").kind, Kind::random_normal);
  EXPECT_EQ(of("randomNormal").stddev, 0.05);
  EXPECT_EQ(of("truncatedNormal").kind, Kind::truncated_normal);
  EXPECT_EQ(of("randomUniform").kind, Kind::random_uniform);
  EXPECT_EQ(of("randomUniform").high, 0.05);
  expect_scaling(of("glorotUniform"), 1, Mode::fan_avg, Distribution::uniform);
  expect_scaling(of("glorotNormal"), 1, Mode::fan_avg, Distribution::truncated_normal);
  expect_scaling(of("heUniform"), 2, Mode::fan_in, Distribution::uniform);
  expect_scaling(of("heNormal"), 2, Mode::fan_in, Distribution::truncated_normal);
  expect_scaling(of("leCunUniform"), 1, Mode::fan_in, Distribution::uniform);
  expect_scaling(of("leCunNormal"), 1, Mode::fan_in, Distribution::truncated_normal);
  expect_scaling(of("varianceScaling"), 3, Mode::fan_out, Distribution::uniform);
}

TEST(Formats, ReadsEveryInitializerOfKeras) {
  const auto of = [](std::string_view initializer) {
    const std::string config = R"("units": 3, "kernel_initializer": )" + std::string(initializer);
    const Network network = read_keras(sequential(layer("Dense", config), "[null, 4]"), "net.json");
    return std::get<Dense>(network.layers[0].kind).kernel_initializer;
  };
  expect_scaling(of(R"("glorot_uniform")"), 1, Mode::fan_avg, Distribution::uniform);
  expect_scaling(of(R"({"class_name": "HeUniform", "config": {"seed": 3}})"), 2, Mode::fan_in,
                 Distribution::uniform);
  expect_scaling(of(R"({"class_name": "LecunNormal", "config": {"seed": null}})"), 1, Mode::fan_in,
                 Distribution::truncated_normal);
  for (const auto& [word, distribution] :
       {std::pair{"normal", Distribution::truncated_normal},
        std::pair{"truncated_normal", Distribution::truncated_normal},
        std::pair{"untruncated_normal", Distribution::normal},
        std::pair{"uniform", Distribution::uniform}})
    expect_scaling(of(std::string(R"({"class_name": "VarianceScaling", "config": {"scale": 0.5,
                          "mode": "fan_out", "distribution": ")") +
                      word + "\"}}"),
                   0.5, Mode::fan_out, distribution);
  const Initializer uniform =
      of(R"({"class_name": "RandomUniform", "config": {"minval": -1, "maxval": 2.5}})");
  EXPECT_EQ(uniform.low, -1);
  EXPECT_EQ(uniform.high, 2.5);
}

TEST(Formats, ReadsActivationsInEachForm) {
  const auto of = [](std::string_view activation) {
    const std::string config = R"("units": 3, "activation": )" + std::string(activation);
    const Network network = read_keras(sequential(layer("Dense", config), "[null, 4]"), "net.json");
    return std::get<Dense>(network.layers[0].kind).activation;
  };
  EXPECT_EQ(of("null"), Activation::linear);
  EXPECT_EQ(of(R"("tanh")"), Activation::tanh);
  EXPECT_EQ(of(R"({"module": "builtins", "class_name": "function", "config": "relu",
                   "registered_name": "function"})"),
            Activation::relu);
  EXPECT_EQ(of(R"({"class_name": "ReLU", "config": {"name": "re_lu", "trainable": true,
                   "dtype": "float32", "max_value": null, "negative_slope": 0.0, "threshold": 0.0}})"),
            Activation::relu);
}

TEST(Formats, ReadsShapesFromWhereverTheyAre) {
  const std::string dense = R"({"class_name": "Dense", "config": {"name": "d", "units": 2)";
  for (
      const std::string& text :
      {std::string(R"({"class_name": "Sequential", "config": [)") + dense +
           R"(, "batch_input_shape": [null, 7]}}]})",
       R"({"class_name": "Sequential", "config": {"name": "s", "build_input_shape": [32, 7],
            "layers": [)" +
           dense + "}}]}}",
       R"({"keras_version": "2.1.6", "model_config": {"class_name": "Sequential", "config": {"name": "s",
            "layers": [)" +
           dense + R"(, "batch_input_shape": [32, 7]}}]}}})"}) {
    const Network network = read_keras(text, "net.json");
    EXPECT_EQ(network.input, Shape::of_vector(7)) << text;
    EXPECT_EQ(network.output(), Shape::of_vector(2)) << text;
  }
}

TEST(Formats, TakesTheLastAxisByItsNumber) {
  const Network network = read_keras(
      sequential(layer("BatchNormalization", R"("axis": [3], "synchronized": false)")), "net.json");
  EXPECT_EQ(network.output(), (Shape{8, 8, 2}));
}

}  // namespace
}  // namespace sweetspot::model
