// A model that cannot be trained as written is rejected, with file, layer and field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"
#include "words.h"

namespace sweetspot::model {
namespace {

struct Refusal {
  const char *class_name, *config, *field;
  const char* shape = "[null, 8, 8, 2]";
};
void PrintTo(const Refusal& given, std::ostream* out) {
  *out << given.class_name << " with " << given.config;
}

class Refusals : public testing::TestWithParam<Refusal> {};

TEST_P(Refusals, NameFileLayerAndField) {
  const Refusal& given = GetParam();
  const std::string message =
      refusal(sequential(layer(given.class_name, given.config), given.shape));
  EXPECT_THAT(message, testing::StartsWith("net.json: layer 'it', field '" +
                                           std::string(given.field) + "': "));
}

constexpr const char* vector = "[null, 8]";
const Refusal refusals[] = {
    {"Conv3D", "", "class_name"},
    {"Functional", R"("layers": [])", "class_name"},
    {"Sequential", R"("layers": [])", "class_name"},
    {"InputLayer", R"("batch_shape": [null, 8, 8, 2])", "class_name"},
    {"Conv2D", R"("kernel_size": 3)", "filters"},
    {"Conv2D", R"("filters": 4)", "kernel_size"},
    {"Conv2D", R"("filters": 0, "kernel_size": 3)", "filters"},
    {"Conv2D", R"("filters": -4, "kernel_size": 3)", "filters"},
    {"Conv2D", R"("filters": 4.5, "kernel_size": 3)", "filters"},
    {"Conv2D", R"("filters": "4", "kernel_size": 3)", "filters"},
    {"Conv2D", R"("filters": 18446744073709551615, "kernel_size": 3)", "filters"},
    {"Conv2D", R"("filters": 2147483648, "kernel_size": 3)", "filters"},
    {"Conv2D", R"("filters": 4, "kernel_size": [3])", "kernel_size"},
    {"Conv2D", R"("filters": 4, "kernel_size": [3, 3, 3])", "kernel_size"},
    {"Conv2D", R"("filters": 4, "kernel_size": [3, 0])", "kernel_size"},
    {"Conv2D", R"("filters": 4, "kernel_size": 9)", "kernel_size"},
    {"Conv2D", R"("filters": 4, "kernel_size": 2147483648, "padding": "same")", "class_name"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "strides": [0, 1])", "strides"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "padding": "causal")", "padding"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "padding": 1)", "padding"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "dilation_rate": [2, 2])", "dilation_rate"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "groups": 4)", "groups"},
    {"Conv2D", R"("filters": 5, "kernel_size": 3, "groups": 2)", "groups"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3)", "class_name", "[null, 8, 2]"},
    {"Conv1D", R"("filters": 4, "kernel_size": 3)", "class_name"},
    {"Conv1D", R"("filters": 4, "kernel_size": [3, 3])", "kernel_size", "[null, 8, 2]"},
    {"Conv1D", R"("filters": 4, "kernel_size": 3, "dilation_rate": [2])", "dilation_rate",
     "[null, 8, 2]"},
    {"DepthwiseConv2D", R"("kernel_size": 3, "depth_multiplier": 0)", "depth_multiplier"},
    {"DepthwiseConv2D",
     R"("kernel_size": 3, "depthwise_constraint": {"class_name": "MaxNorm", "config": {}})",
     "depthwise_constraint"},
    {"SeparableConv2D", R"("kernel_size": 3)", "filters"},
    {"Conv2DTranspose", R"("filters": 4, "kernel_size": 3, "output_padding": [1, 1])",
     "output_padding"},
    {"Conv2DTranspose", R"("filters": 4, "kernel_size": 3, "strides": 2147483648)", "strides"},
    {"ZeroPadding2D", R"("padding": [[1, 1], [1]])", "padding"},
    {"ZeroPadding2D", R"("padding": -1)", "padding"},
    {"ZeroPadding2D", R"("padding": 2147483648)", "class_name"},
    {"Cropping2D", R"("cropping": [4, 4])", "class_name"},
    {"UpSampling2D", R"("size": 2, "interpolation": "bilinear")", "interpolation"},
    {"UpSampling2D", R"("size": 2147483648)", "class_name"},
    {"Reshape", R"("target_shape": [3, -1])", "target_shape"},
    {"Reshape", R"("target_shape": [-1, -1])", "target_shape"},
    {"Reshape", R"("target_shape": [2147483648, 2147483648, 2147483648])", "target_shape"},
    {"Reshape", R"("target_shape": [2, 2, 2, 16])", "target_shape"},
    {"Permute", R"("dims": [1, 2, 2])", "dims"},
    {"Permute", R"("dims": [2, 1])", "dims"},
    {"PReLU", R"("shared_axes": [4])", "shared_axes"},
    {"LayerNormalization", R"("axis": [1, 2, 3])", "axis"},
    {"LayerNormalization", R"("rms_scaling": true)", "rms_scaling"},
    {"Rescaling", R"("scale": [1, 2])", "scale"},
    {"GaussianNoise", R"("stddev": -1)", "stddev"},
    {"SpatialDropout2D", R"("rate": 1)", "rate"},
    {"ReLU", R"("max_value": -1)", "max_value"},
    {"Dense", R"("units": 4, "activity_regularizer": {"class_name": "L2", "config": {"l2": 0.1}})",
     "activity_regularizer", vector},
    {"Dense", R"("units": 4, "kernel_regularizer": "orthogonal_regularizer")", "kernel_regularizer",
     vector},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "data_format": "channels_first")", "data_format"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "activation": "mish")", "activation"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "activation": "softmax")", "activation"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "use_bias": 1)", "use_bias"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "kernel_regularizer": {"class_name": "L2"})",
     "kernel_regularizer.config"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "bias_constraint": {"class_name": "NonNeg"})",
     "bias_constraint"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "trainable": false)", "trainable"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "dtype": "float16")", "dtype"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "dtype": {"class_name": "DTypePolicy",
        "config": {"name": "mixed_bfloat16"}})",
     "dtype.config.name"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "batch_input_shape": [null, 9, 9, 2])",
     "batch_input_shape"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3, "a_field_of_tomorrow": 1)",
     "a_field_of_tomorrow"},
    {"Conv2D", R"("filters": 4, "kernel_size": 3)", "class_name", vector},
    {"MaxPooling2D", R"("pool_size": [9, 2])", "pool_size"},
    {"MaxPooling2D", "", "class_name", vector},
    {"AveragePooling2D", R"("pool_size": 0)", "pool_size"},
    {"AveragePooling2D", R"("strides": "two")", "strides"},
    {"GlobalAveragePooling2D", "", "class_name", vector},
    {"Flatten", R"("data_format": "channels_first")", "data_format"},
    {"Dense", "", "units", vector},
    {"Dense", R"("units": 1e99)", "units", vector},
    {"Dense", R"("units": 2147483647)", "class_name", "[null, 2147483647]"},
    {"Dense", R"("units": 4, "lora_rank": 2)", "lora_rank", vector},
    {"Dense", R"("units": 4, "activation": {"class_name": "function", "config": "mish"})",
     "activation.config", vector},
    {"Dense", R"("units": 4, "activation": {"class_name": "PReLU", "config": {}})", "activation",
     vector},
    {"Dense", R"("units": 4, "activation": ["relu"])", "activation", vector},
    {"Dense", R"("units": 4, "kernel_initializer": "orthogonal")", "kernel_initializer", vector},
    {"Dense", R"("units": 4, "kernel_initializer": 3)", "kernel_initializer", vector},
    {"Dense",
     R"("units": 4, "bias_initializer": {"class_name": "Identity", "config": {"gain": 1}})",
     "bias_initializer", vector},
    {"Dense", R"("units": 4, "kernel_initializer": {"class_name": "Zeros"})",
     "kernel_initializer.config", vector},
    {"Dense", R"("units": 4, "kernel_initializer": {"class_name": "RandomNormal",
        "config": {"stddev": -1}})",
     "kernel_initializer.config.stddev", vector},
    {"Dense", R"("units": 4, "kernel_initializer": {"class_name": "RandomNormal",
        "config": {"mean": 1e300}})",
     "kernel_initializer.config.mean", vector},
    {"Dense", R"("units": 4, "kernel_initializer": {"class_name": "RandomUniform",
        "config": {"minval": 1, "maxval": 0}})",
     "kernel_initializer.config.minval", vector},
    {"Dense", R"("units": 4, "kernel_initializer": {"class_name": "VarianceScaling",
        "config": {"mode": "fan_geom"}})",
     "kernel_initializer.config.mode", vector},
    {"Dense", R"("units": 4, "kernel_initializer": {"class_name": "VarianceScaling",
        "config": {"distribution": "cauchy"}})",
     "kernel_initializer.config.distribution", vector},
    {"Dense", R"("units": 4, "kernel_initializer": {"class_name": "Zeros", "config": {},
        "registered_name": "mine>Zeros"})",
     "kernel_initializer.registered_name", vector},
    {"Dropout", "", "rate"},
    {"Dropout", R"("rate": 1)", "rate"},
    {"Dropout", R"("rate": -0.1)", "rate"},
    {"Dropout", R"("rate": "half")", "rate"},
    {"Dropout", R"("rate": 0.5, "noise_shape": [null, 1, 1, 2])", "noise_shape"},
    {"Activation", "", "activation"},
    {"Activation", R"("activation": "softmax")", "activation"},
    {"Softmax", R"("axis": 0)", "axis", vector},
    {"Softmax", "", "class_name"},
    {"BatchNormalization", R"("axis": 1)", "axis"},
    {"BatchNormalization", R"("axis": [1, 2])", "axis"},
    {"BatchNormalization", R"("momentum": 1.5)", "momentum"},
    {"BatchNormalization", R"("epsilon": -1)", "epsilon"},
    {"BatchNormalization", R"("renorm": true)", "renorm"},
    {"BatchNormalization", R"("gamma_constraint": {"class_name": "NonNeg"})", "gamma_constraint"},
};
INSTANTIATE_TEST_SUITE_P(Fields, Refusals, testing::ValuesIn(refusals),
                         [](const auto& test) { return std::to_string(test.index); });

TEST(Refusal, OfSoftmaxInTheMiddleNamesIt) {
  const std::string after =
      R"(, {"class_name": "Dropout", "config": {"name": "after", "rate": 0.1}})";
  const std::string dense = layer("Dense", R"("units": 3, "activation": "softmax")");
  EXPECT_WORDS(refusal(sequential(dense + after, "[null, 4]")));
  EXPECT_WORDS(refusal(sequential(layer("Softmax") + after, "[null, 4]")));
}

TEST(Refusal, OfNames) {
  const std::string flatten = layer("Flatten");
  EXPECT_WORDS(refusal(sequential(flatten + ", " + flatten)));
  EXPECT_WORDS(refusal(sequential(R"({"class_name": "Flatten", "config": {}})")));
  const std::string escape =
      refusal(sequential(R"({"class_name": "Flatten", "config": {"name": "a\u001b[2Jb"}})"));
  EXPECT_WORDS(escape);
  EXPECT_EQ(escape.find('\x1b'), std::string::npos);
}

TEST(Refusal, OfClassesThatOnlyLookLikeKeras) {
  EXPECT_WORDS(refusal(sequential(
      R"({"class_name": "Flatten", "module": "__main__", "registered_name": "Flatten", "config": {"name": "it"}})")));
  EXPECT_WORDS(refusal(sequential(
      R"({"class_name": "Flatten", "config": {"name": "it"}, "inbound_nodes": [[["in", 0, 0, {}]]]})")));
}

TEST(Refusal, OfInputs) {
  const std::string dense = layer("Dense", R"("units": 3)");
  for (const char* shape : {"[]", "[null]", "[null, 8, 8, 2, 2]", "[null, 0]", "[null, -1]",
                            "[null, null]", "[null, 2.5]", "[null, \"8\"]", "8",
                            "[null, 9223372036854775807]", "[null, 65536, 65536, 1]"})
    EXPECT_WORDS(refusal(sequential(dense, shape)));
  EXPECT_WORDS(refusal(R"({"class_name": "Sequential", "config": {"name": "n", "layers": [)" +
                       dense + "]}}"));
}

TEST(Refusal, OfWholeModels) {
  for (
      const char* text : {
          R"({"class_name": "Ensemble", "config": {}})",
          R"({"class_name": "Functional", "config": {}})",
          R"({"class_name": "Model", "config": {"name": "n", "layers": []}})",
          R"({"class_name": "Sequential"})",
          R"({"class_name": "Sequential", "config": 5})",
          R"({"class_name": "Sequential", "config": []})",
          R"({"class_name": "Sequential", "config": [5]})",
          R"({"class_name": "Sequential", "config": {"name": "n", "layers": 5}})",
          R"({"class_name": "Sequential", "config": {"name": "n", "layers": [], "trainable": false}})",
          "{}",
          "[]",
          "5",
          R"("a text")",
          R"({"modelTopology": null})",
      }) {
    EXPECT_THAT(refusal(text), testing::StartsWith("net.json")) << text;
    EXPECT_WORDS(refusal(text));
  }
  EXPECT_WORDS(refusal(sequential("")));
}

}  // namespace
}  // namespace sweetspot::model
