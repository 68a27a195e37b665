// How each Keras layer is lowered, and the variables that Keras saves for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/counts.h"
#include "model/keras.h"
#include "support.h"
#include "words.h"

namespace sweetspot::model {
namespace {

using testing::ElementsAre;

constexpr const char* image = "[null, 8, 6, 4]";
constexpr const char* sequence = "[null, 10, 4]";
constexpr const char* features = "[null, 12]";

Network with(const char* class_name, const char* config, const char* shape = image) {
  return read_keras(sequential(layer(class_name, config), shape), "net.json");
}

// "it/kernel 3×3×4×8"
std::vector<std::string> variables(const Network& network) {
  std::vector<std::string> all;
  for (const Parameter& parameter : parameters(network)) {
    std::string text = parameter.name + " ";
    for (const std::int64_t size : parameter.shape) text += std::to_string(size) + "×";
    text.resize(text.size() - std::string("×").size());
    all.push_back(text);
  }
  return all;
}

std::string output(const char* class_name, const char* config, const char* shape = image) {
  return to_string(with(class_name, config, shape).output());
}

TEST(Vocabulary, OutputsAreKeras) {
  EXPECT_EQ(output("Conv1D", R"("filters": 3, "kernel_size": [4], "strides": 2)", sequence), "4×3");
  EXPECT_EQ(output("Conv1D", R"("filters": 3, "kernel_size": 4, "padding": "causal")", sequence),
            "10×3");
  EXPECT_EQ(output("DepthwiseConv2D", R"("kernel_size": 3, "depth_multiplier": 2)"), "6×4×8");
  EXPECT_EQ(output("SeparableConv2D", R"("filters": 5, "kernel_size": 3, "padding": "same")"),
            "8×6×5");
  EXPECT_EQ(output("SeparableConv1D", R"("filters": 5, "kernel_size": 3)", sequence), "8×5");
  // Keras: size · stride, plus for "valid" the kernel's reach beyond the last stride.
  EXPECT_EQ(output("Conv2DTranspose",
                   R"("filters": 5, "kernel_size": 3, "strides": 2, "padding": "same")"),
            "16×12×5");
  EXPECT_EQ(output("Conv2DTranspose", R"("filters": 5, "kernel_size": 3, "strides": [2, 4])"),
            "17×24×5");
  EXPECT_EQ(output("MaxPooling1D", R"("pool_size": [3])", sequence), "3×4");
  EXPECT_EQ(output("AveragePooling1D", R"("pool_size": 3, "strides": 1)", sequence), "8×4");
  EXPECT_EQ(output("GlobalMaxPooling2D", ""), "4");
  EXPECT_EQ(output("GlobalMaxPooling1D", "", sequence), "4");
  EXPECT_EQ(output("GlobalAveragePooling2D", R"("keepdims": true)"), "1×1×4");
  EXPECT_EQ(output("ZeroPadding2D", R"("padding": [[1, 0], [2, 3]])"), "9×11×4");
  EXPECT_EQ(output("ZeroPadding2D", R"("padding": [1, 2])"), "10×10×4");
  EXPECT_EQ(output("ZeroPadding1D", R"("padding": 2)", sequence), "14×4");
  EXPECT_EQ(output("Cropping2D", R"("cropping": [[1, 2], [3, 0]])"), "5×3×4");
  EXPECT_EQ(output("UpSampling2D", R"("size": [2, 3])"), "16×18×4");
  EXPECT_EQ(output("Reshape", R"("target_shape": [16, -1])"), "16×12");
  EXPECT_EQ(output("Reshape", R"("target_shape": [2, 2, 3])", features), "2×2×3");
  EXPECT_EQ(output("Permute", R"("dims": [3, 1, 2])"), "4×8×6");
  EXPECT_EQ(output("Permute", R"("dims": [2, 1])", sequence), "4×10");
  EXPECT_EQ(output("Dense", R"("units": 7)"), "8×6×7");
  EXPECT_EQ(output("Dense", R"("units": 7)", sequence), "10×7");
}

TEST(Vocabulary, VariablesAreThoseThatKerasSaves) {
  EXPECT_THAT(variables(with("Conv1D", R"("filters": 3, "kernel_size": 5)", sequence)),
              ElementsAre("it/kernel 5×4×3", "it/bias 3"));
  EXPECT_THAT(variables(with("DepthwiseConv2D", R"("kernel_size": [3, 2], "depth_multiplier": 2)")),
              ElementsAre("it/depthwise_kernel 3×2×4×2", "it/bias 8"));
  EXPECT_THAT(
      variables(
          with("SeparableConv2D", R"("filters": 5, "kernel_size": 3, "depth_multiplier": 2)")),
      ElementsAre("it/depthwise_kernel 3×3×4×2", "it/pointwise_kernel 1×1×8×5", "it/bias 5"));
  EXPECT_THAT(variables(with("SeparableConv1D", R"("filters": 5, "kernel_size": 3)", sequence)),
              ElementsAre("it/depthwise_kernel 3×4×1", "it/pointwise_kernel 1×4×5", "it/bias 5"));
  EXPECT_THAT(variables(with("Conv2DTranspose", R"("filters": 5, "kernel_size": [3, 2])")),
              ElementsAre("it/kernel 3×2×5×4", "it/bias 5"));
  EXPECT_THAT(variables(with("Conv2D", R"("filters": 8, "kernel_size": 3, "groups": 4)")),
              ElementsAre("it/kernel 3×3×1×8", "it/bias 8"));
  EXPECT_THAT(variables(with("Dense", R"("units": 7)")), ElementsAre("it/kernel 4×7", "it/bias 7"));
  EXPECT_THAT(variables(with("PReLU", "")), ElementsAre("it/alpha 8×6×4"));
  EXPECT_THAT(variables(with("PReLU", R"("shared_axes": [1, 2])")), ElementsAre("it/alpha 1×1×4"));
  EXPECT_THAT(variables(with("PReLU", R"("shared_axes": [1])", sequence)),
              ElementsAre("it/alpha 1×4"));
  EXPECT_THAT(variables(with("LayerNormalization", "")), ElementsAre("it/gamma 4", "it/beta 4"));
  EXPECT_THAT(variables(with("LayerNormalization", R"("scale": false, "axis": [1])", features)),
              ElementsAre("it/beta 12"));
}

TEST(Vocabulary, FansAreKeras) {
  const Network network = with("Conv2DTranspose", R"("filters": 5, "kernel_size": [3, 2])");
  const std::vector<Parameter> transposed = parameters(network);
  EXPECT_EQ(transposed[0].fan_in, 3 * 2 * 5);
  EXPECT_EQ(transposed[0].fan_out, 3 * 2 * 4);
  const std::vector<Parameter> depthwise =
      parameters(with("DepthwiseConv2D", R"("kernel_size": [3, 2], "depth_multiplier": 7)"));
  EXPECT_EQ(depthwise[0].fan_in, 3 * 2 * 4);
  EXPECT_EQ(depthwise[0].fan_out, 3 * 2 * 7);
}

TEST(Vocabulary, CountsOnlyWhatIsMultiplied) {
  const auto flops = [](const Network& network) { return total_counts(network).forward_flops; };
  EXPECT_EQ(flops(with("DepthwiseConv2D", R"("kernel_size": 3, "use_bias": false)")),
            2 * 9 * 6 * 4 * 4);
  // The same as the convolution whose gradient it is: 16×12 from 8×6.
  EXPECT_EQ(flops(with("Conv2DTranspose", R"("filters": 5, "kernel_size": 3, "strides": 2,
                                             "padding": "same", "use_bias": false)")),
            2 * 9 * 8 * 6 * 4 * 5);
}

Activation function(const std::string& activation, const std::string& around = "") {
  const std::string text = R"({"class_name": "Sequential", )" + around + R"(
      "config": {"name": "net", "layers": [
      {"class_name": "InputLayer", "config": {"name": "in", "batch_shape": [null, 4]}},
      {"class_name": "Dense", "config": {"name": "d", "units": 3, "activation": )" +
                           activation + "}}]}}";
  return std::get<Dense>(read_keras(text, "net.json").layers[0].kind).activation;
}

TEST(Vocabulary, FunctionsByName) {
  EXPECT_EQ(function(R"("elu")"), Activation::elu);
  EXPECT_EQ(function(R"("elu")").slope, 1.f);
  EXPECT_EQ(function(R"("selu")"), Activation::selu);
  EXPECT_EQ(function(R"("gelu")"), Activation::gelu);
  EXPECT_EQ(function(R"("gelu_new")"), Activation::gelu_tanh);
  EXPECT_EQ(function(R"("swish")"), Activation::swish);
  EXPECT_EQ(function(R"("silu")"), Activation::swish);
  EXPECT_EQ(function(R"("softplus")"), Activation::softplus);
  EXPECT_EQ(function(R"("softsign")"), Activation::softsign);
  EXPECT_EQ(function(R"("exponential")"), Activation::exponential);
  EXPECT_EQ(function(R"("relu6")").most, 6.f);
  EXPECT_EQ(function(R"("leaky_relu")").slope, 0.2f);
  EXPECT_EQ(function(R"({"class_name": "LeakyReLU", "config": {"name": "l", "alpha": 0.1}})").slope,
            0.1f);
}

TEST(Vocabulary, HardSigmoidIsThatOfItsKeras) {
  EXPECT_EQ(function(R"("hard_sigmoid")", R"("keras_version": "2.11.0",)").slope, 0.2f);
  EXPECT_EQ(function(R"("hardSigmoid")", R"("keras_version": "tfjs-layers 4.22.0",)").slope, 0.2f);
  EXPECT_EQ(function(R"("hard_sigmoid")", R"("module": "keras",)").slope, 1.f / 6);
  EXPECT_EQ(function(R"("hard_sigmoid")", R"("keras_version": "3.4.1",)").slope, 1.f / 6);
}

TEST(Vocabulary, FunctionLayersWithTheirConstants) {
  const auto of = [](const char* class_name, const char* config) {
    return std::get<Activate>(with(class_name, config).layers[0].kind).function;
  };
  EXPECT_EQ(of("ReLU", R"("max_value": null, "negative_slope": 0.0)"), Activation::relu);
  const Activation bounded = of("ReLU", R"("max_value": 6, "negative_slope": 0.1, "threshold": 1)");
  EXPECT_EQ(bounded, Activation::rectified);
  EXPECT_EQ(bounded.most, 6.f);
  EXPECT_EQ(bounded.slope, 0.1f);
  EXPECT_EQ(bounded.threshold, 1.f);
  EXPECT_EQ(of("LeakyReLU", R"("negative_slope": 0.05)").slope, 0.05f);
  EXPECT_EQ(of("LeakyReLU", "").slope, 0.3f);
  EXPECT_EQ(of("ELU", R"("alpha": 0.5)").slope, 0.5f);
}

TEST(Vocabulary, PenaltiesInEachForm) {
  const auto of = [](const std::string& regularizer) {
    const Network network =
        with("Dense", (R"("units": 3, "kernel_regularizer": )" + regularizer).c_str(), features);
    return parameters(network)[0].regularizer;
  };
  EXPECT_EQ(of(R"({"class_name": "L2", "config": {"l2": 0.5}})").l2, 0.5);
  EXPECT_EQ(of(R"({"module": "keras.regularizers", "class_name": "L1", "config": {"l1": 0.25},
                   "registered_name": null})")
                .l1,
            0.25);
  const Regularizer both = of(R"({"class_name": "L1L2", "config": {"l1": 0.1, "l2": 0.2}})");
  EXPECT_EQ(both.l1, 0.1);
  EXPECT_EQ(both.l2, 0.2);
  EXPECT_EQ(of(R"("l2")").l2, 0.01);
  EXPECT_FALSE(of("null"));
}

// The error comes before any complaint about the input, and shows both alternatives.
TEST(Unsupported, LayersAreCalledByTheirName) {
  for (const char* class_name :
       {"LSTM", "GRU", "Embedding", "Conv3D", "MultiHeadAttention", "ActivityRegularization",
        "GroupNormalization", "MaxPooling4D", "Add"})
    EXPECT_WORDS(refusal(sequential(layer(class_name, ""), "[null, 2, 3, 4, 5, 6, 7]")));
}

std::string functional(const std::string& layers, const std::string& ends) {
  return R"({"class_name": "Functional", "config": {"name": "f", "trainable": true, "layers": [)" +
         layers + "], " + ends + R"(}, "keras_version": "2.11.0"})";
}
constexpr const char* keras2_ends =
    R"("input_layers": [["in", 0, 0]], "output_layers": [["out", 0, 0]])";
constexpr const char* keras2_in = R"({"class_name": "InputLayer", "name": "in", "inbound_nodes": [],
    "config": {"name": "in", "batch_input_shape": [null, 4], "sparse": false, "ragged": false}})";
std::string keras2_dense(const std::string& name, const std::string& nodes) {
  return R"({"class_name": "Dense", "name": ")" + name + R"(", "config": {"name": ")" + name +
         R"(", "units": 3}, "inbound_nodes": )" + nodes + "}";
}

TEST(Functional, AChainIsReadInItsOrder) {
  const Network keras2 = read_keras(
      functional(keras2_dense("out", R"([[["middle", 0, 0, {}]]])") + ", " +
                     keras2_dense("middle", R"([[["in", 0, 0, {}]]])") + ", " + keras2_in,
                 keras2_ends),
      "net.json");
  ASSERT_EQ(keras2.layers.size(), 2u);
  EXPECT_EQ(keras2.layers[0].name, "middle");
  EXPECT_EQ(keras2.layers[1].name, "out");

  const auto node = [](const std::string& from, const std::string& training) {
    return R"([{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 4],
               "dtype": "float32", "keras_history": [")" +
           from + R"(", 0, 0]}}], "kwargs": {"training": )" + training + "}}]";
  };
  const auto dense = [](const std::string& name, const std::string& nodes) {
    return R"({"module": "keras.layers", "class_name": "Dense", "registered_name": null,
               "name": ")" +
           name + R"(", "build_config": {"input_shape": [null, 4]}, "config": {"name": ")" + name +
           R"(", "units": 3}, "inbound_nodes": )" + nodes + "}";
  };
  const Network keras3 = read_keras(
      R"({"module": "keras.src.models.functional", "class_name": "Functional",
          "registered_name": "Functional", "config": {"name": "f", "trainable": true, "layers": [
          {"module": "keras.layers", "class_name": "InputLayer", "registered_name": null,
           "name": "in", "inbound_nodes": [],
           "config": {"name": "in", "batch_shape": [null, 4], "sparse": false}}, )" +
          dense("middle", node("in", "null")) + ", " + dense("out", node("middle", "false")) +
          R"(], "input_layers": ["in", 0, 0], "output_layers": ["out", 0, 0]}})",
      "net.json");
  EXPECT_EQ(describe(keras3), describe(keras2));
}

TEST(Functional, OtherGraphsAreRefusedAtTheLayer) {
  const auto in = [](const std::string& name) { return R"([[[")" + name + R"(", 0, 0, {}]]])"; };
  EXPECT_WORDS(refusal(functional(std::string(keras2_in) + ", " + keras2_dense("a", in("in")) +
                                      ", " + keras2_dense("out", in("in")),
                                  keras2_ends)));
  EXPECT_WORDS(
      refusal(functional(std::string(keras2_in) + ", " +
                             keras2_dense("out", R"([[["in", 0, 0, {}], ["in", 0, 0, {}]]])"),
                         keras2_ends)));
  EXPECT_WORDS(
      refusal(functional(std::string(keras2_in) + ", " +
                             keras2_dense("out", R"([[["in", 0, 0, {"training": true}]]])"),
                         keras2_ends)));
  EXPECT_WORDS(refusal(functional(std::string(keras2_in) + ", " + keras2_dense("out", in("in")),
                                  R"("input_layers": [["in", 0, 0]],
                                    "output_layers": [["in", 0, 0], ["out", 0, 0]])")));
  // A circle, and layers that lead nowhere.
  EXPECT_WORDS(
      refusal(functional(std::string(keras2_in) + ", " + keras2_dense("a", in("b")) + ", " +
                             keras2_dense("b", in("a")) + ", " + keras2_dense("out", in("in")),
                         keras2_ends)));
}

}  // namespace
}  // namespace sweetspot::model
