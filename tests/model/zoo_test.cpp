#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "model/counts.h"
#include "model/keras.h"

namespace sweetspot::model {
namespace {

// Parameters and forward FLOPs computed by hand from the sources' layer lists.
struct Expected {
  const char *name, *input, *output;
  std::int64_t parameters;
  std::int64_t forward_flops;
};
void PrintTo(const Expected& model, std::ostream* out) { *out << model.name; }

class Zoo : public testing::TestWithParam<Expected> {};

TEST_P(Zoo, HasTheSourcesSizes) {
  const Expected& expected = GetParam();
  const Network network = load_network(expected.name);
  EXPECT_EQ(network.name, expected.name);
  EXPECT_EQ(to_string(network.input), expected.input);
  EXPECT_EQ(to_string(network.output()), expected.output);
  const LayerCounts total = total_counts(network);
  EXPECT_EQ(total.parameters, expected.parameters);
  EXPECT_EQ(total.forward_flops, expected.forward_flops);
}

// A convolution or dense layer: outputs × (2 × values read + 1 for the bias) + outputs for ReLU or
// softmax. A 2×2 pooling: outputs × 4. Dropout: its values.
constexpr std::int64_t paper_flops = 25 * 25 * 32 * (2 * 16 + 2) + 12 * 12 * 32 * 4 +
                                     9 * 9 * 64 * (2 * 16 * 32 + 2) + 4 * 4 * 64 * 4 + 1024 +
                                     500 * (2 * 1024 + 2) + 500 + 10 * (2 * 500 + 2);
constexpr std::int64_t small_flops =
    26 * 26 * 32 * (2 * 9 + 2) + 13 * 13 * 32 * 4 + 10 * (2 * 5408 + 2);
constexpr std::int64_t rgb64_flops =
    62 * 62 * 32 * (2 * 27 + 2) + 31 * 31 * 32 * 4 + 10 * (2 * 30752 + 2);
constexpr std::int64_t rgb128_flops = 126 * 126 * 32 * (2 * 27 + 2) + 63 * 63 * 32 * 4 +
                                      61 * 61 * 64 * (2 * 9 * 32 + 2) + 30 * 30 * 64 * 4 +
                                      10 * (2 * 57600 + 2);
constexpr std::int64_t slim_flops = 126 * 126 * 16 * (2 * 27 + 2) + 63 * 63 * 16 * 4 +
                                    61 * 61 * 32 * (2 * 9 * 16 + 2) + 30 * 30 * 32 * 4 +
                                    10 * (2 * 28800 + 2);
INSTANTIATE_TEST_SUITE_P(
    Models, Zoo,
    testing::Values(Expected{"paper-cnn", "28×28×1", "10", 544 + 32832 + 512500 + 5010,
                             paper_flops},
                    Expected{"small-cnn", "28×28×1", "10", 320 + 54090, small_flops},
                    Expected{"rgb64-cnn", "64×64×3", "10", 896 + 307530, rgb64_flops},
                    Expected{"rgb128-cnn", "128×128×3", "10", 896 + 18496 + 576010, rgb128_flops},
                    Expected{"rgb128-cnn-slim", "128×128×3", "10", 448 + 4640 + 288010, slim_flops},
                    Expected{"linear", "10", "1", 11, 21},
                    Expected{"mlp", "10", "1", 110 + 11, 10 * 22 + 21}),
    [](const auto& test) {
      std::string name = test.param.name;
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(ZooNames, ListTheDefaultFirst) {
  EXPECT_THAT(zoo_names(), testing::ElementsAre("paper-cnn", "small-cnn", "rgb64-cnn", "rgb128-cnn",
                                                "rgb128-cnn-slim", "linear", "mlp"));
  for (const std::string& name : zoo_names())
    EXPECT_EQ(read_keras(zoo_json(name), name).layers.size(), load_network(name).layers.size());
  EXPECT_THROW(zoo_json("no-such"), core::InputError);
}

TEST(PaperCnn, HasTheLayersOfThePaper) {
  const Network network = load_network("paper-cnn");
  std::vector<std::string> outputs;
  for (const Layer& layer : network.layers) outputs.push_back(to_string(layer.output));
  EXPECT_THAT(outputs, testing::ElementsAre("25×25×32", "12×12×32", "9×9×64", "4×4×64", "1024",
                                            "1024", "500", "500", "10"));
  for (const Parameter& parameter : parameters(network)) {
    EXPECT_EQ(parameter.initializer.kind, Initializer::Kind::random_normal) << parameter.name;
    EXPECT_EQ(parameter.initializer.stddev, 0.05) << parameter.name;
  }
}

constexpr const char* rescaled = R"({"class_name": "Sequential", "keras_version": "2.11.0",
    "config": {"name": "rescaled", "layers": [
    {"class_name": "InputLayer", "config": {"name": "in", "batch_input_shape": [null, 8, 8, 3]}},
    {"class_name": "Rescaling", "config": {"name": "scale", "scale": 0.5}},
    {"class_name": "BatchNormalization", "config": {"name": "norm", "center": false, "scale": false}},
    {"class_name": "Conv2D", "config": {"name": "conv", "filters": 4, "kernel_size": 3}},
    {"class_name": "Conv2D", "config": {"name": "next", "filters": 4, "kernel_size": 3}}]}})";

TEST(Counts, NoInputGradientIsNeededBeforeAnythingLearns) {
  const Network network = read_keras(rescaled, "rescaled.json");
  const LayerCounts first = counts(network, 2), next = counts(network, 3);
  EXPECT_EQ(first.training_flops, 2 * first.forward_flops);
  EXPECT_EQ(next.training_flops, 3 * next.forward_flops);
}

TEST(KerasText, WithBytesBehindItIsRejected) {
  const std::string text = rescaled;
  EXPECT_THROW(read_keras(text + std::string(2, '\0'), "net.json"), core::InputError);
  EXPECT_THROW(read_keras(text + "x", "net.json"), core::InputError);
}

TEST(Counts, TrainingAddsAGradientToInputAndWeights) {
  const Network network = load_network("paper-cnn");
  const LayerCounts first = counts(network, 0), pool = counts(network, 1),
                    conv = counts(network, 2), flatten = counts(network, 4);
  EXPECT_EQ(first.training_flops, 2 * first.forward_flops);  // nothing before it learns
  EXPECT_EQ(pool.training_flops, 2 * pool.forward_flops);    // nothing in it learns
  EXPECT_EQ(conv.training_flops, 3 * conv.forward_flops);
  EXPECT_EQ(conv.parameters, 32832);
  EXPECT_EQ(conv.activation_bytes, 9 * 9 * 64 * 4);
  EXPECT_EQ(flatten.forward_flops, 0);
  LayerCounts sum;
  for (std::size_t i = 0; i < network.layers.size(); ++i) {
    sum.training_flops += counts(network, i).training_flops;
    sum.activation_bytes += counts(network, i).activation_bytes;
  }
  EXPECT_EQ(total_counts(network).training_flops, sum.training_flops);
  EXPECT_EQ(total_counts(network).activation_bytes, sum.activation_bytes);
}

}  // namespace
}  // namespace sweetspot::model
