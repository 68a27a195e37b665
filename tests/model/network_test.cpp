#include "model/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/keras.h"
#include "support.h"

namespace sweetspot::model {
namespace {

TEST(Shape, IsShownAsPeopleWriteIt) {
  EXPECT_EQ(to_string(Shape{28, 27, 1}), "28×27×1");
  EXPECT_EQ(to_string(Shape::of_vector(500)), "500");
}

// The expected numbers are TensorFlow's: total = max((ceil(in / stride) - 1) * stride + window -
// in, 0), the odd pixel after.
TEST(PaddingAlong, PlacesTheOddPixelAfter) {
  const auto pads = [](Padding padding, std::int64_t input, std::int64_t window,
                       std::int64_t stride) {
    const Pad pad = padding_along(padding, input, window, stride);
    return std::pair{pad.before, pad.after};
  };
  EXPECT_EQ(pads(Padding::valid, 28, 4, 1), std::pair(0l, 0l));
  EXPECT_EQ(pads(Padding::same, 28, 3, 1), std::pair(1l, 1l));
  EXPECT_EQ(pads(Padding::same, 28, 4, 1), std::pair(1l, 2l));
  EXPECT_EQ(pads(Padding::same, 28, 3, 2), std::pair(0l, 1l));
  EXPECT_EQ(pads(Padding::same, 27, 3, 2), std::pair(1l, 1l));
  EXPECT_EQ(pads(Padding::same, 28, 1, 3), std::pair(0l, 0l));  // the stride skips past the window
  EXPECT_EQ(pads(Padding::same, 2, 5, 1), std::pair(2l, 2l));
}

// For any window and stride, "same" covers ceil(input / stride) positions.
TEST(PaddingAlong, FitsTheOutputOfTheReader) {
  for (int input = 1; input <= 9; ++input)
    for (int window = 1; window <= 6; ++window)
      for (int stride = 1; stride <= 4; ++stride) {
        const std::string n = std::to_string(input), w = std::to_string(window),
                          s = std::to_string(stride);
        const Network network =
            read_keras(sequential(layer("MaxPooling2D", R"("padding": "same", "pool_size": )" + w +
                                                            R"(, "strides": )" + s),
                                  "[null, " + n + ", " + n + ", 1]"),
                       "net.json");
        const Pad pad = padding_along(Padding::same, input, window, stride);
        const std::int64_t padded = input + pad.before + pad.after;
        EXPECT_EQ(network.output().height,
                  (padded - std::min<std::int64_t>(window, padded)) / stride + 1)
            << input << " " << window << " " << stride;
        EXPECT_GE(pad.after - pad.before, 0);
        EXPECT_LE(pad.after - pad.before, 1);
      }
}

TEST(Parameters, AreKerasVariablesInKerasOrder) {
  const Network network = read_keras(fixture("tfjs/every-layer.json"), "every-layer");
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters(network)) names.push_back(parameter.name);
  EXPECT_THAT(names,
              testing::ElementsAre("conv/kernel", "norm/gamma", "norm/beta", "norm/moving_mean",
                                   "norm/moving_variance", "narrow/kernel", "narrow/bias",
                                   "dense/kernel", "dense/bias"));
  const std::vector<Parameter> all = parameters(network);
  EXPECT_THAT(all[0].shape, testing::ElementsAre(3, 5, 3, 8));
  EXPECT_EQ(all[0].size(), 360);
  EXPECT_EQ(all[0].layer, 0u);
  EXPECT_EQ(all[0].fan_in, 3 * 5 * 3);
  EXPECT_EQ(all[0].fan_out, 3 * 5 * 8);
  EXPECT_TRUE(all[2].trainable);
  EXPECT_FALSE(all[3].trainable);
  EXPECT_FALSE(all[4].trainable);
  EXPECT_EQ(all[4].initializer.kind, Initializer::Kind::ones);
  EXPECT_THAT(all[7].shape, testing::ElementsAre(6, 5));
  EXPECT_EQ(all[8].fan_in, 5);  // Keras uses a vector's length for both fans
  EXPECT_EQ(all[8].layer, 9u);
}

TEST(Parameters, LeaveOutWhatALayerDoesNotUse) {
  const Network network = read_keras(
      sequential(layer("BatchNormalization", R"("center": false, "scale": false)")), "net.json");
  const std::vector<Parameter> all = parameters(network);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "it/moving_mean");
}

TEST(NaturalLoss, IsCrossEntropyAfterSoftmaxAlone) {
  EXPECT_EQ(natural_loss(load_network("paper-cnn")), Loss::sparse_categorical_crossentropy);
  EXPECT_EQ(natural_loss(load_network("mlp")), Loss::mean_squared_error);
  EXPECT_EQ(natural_loss(read_keras(sequential(layer("Softmax"), "[null, 4]"), "net.json")),
            Loss::sparse_categorical_crossentropy);
  EXPECT_EQ(name(Loss::mean_squared_error), "mean_squared_error");
}

}  // namespace
}  // namespace sweetspot::model
