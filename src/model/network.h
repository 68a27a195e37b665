#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sweetspot::model {

// The shape of one sample: an image (height, width, channels last, as Keras has it) or a vector.
struct Shape {
  std::int64_t height = 1, width = 1, channels = 1;
  bool vector = false;  // (channels) rather than (1, 1, channels)

  static Shape of_vector(std::int64_t n) { return {1, 1, n, true}; }
  std::int64_t size() const { return height * width * channels; }
  bool operator==(const Shape&) const = default;
};
std::string to_string(const Shape&);  // "28×28×1" or "500"

enum class Activation { linear, relu, softmax, sigmoid, tanh };
enum class Padding { valid, same };
struct Window {
  std::int64_t height = 1, width = 1;
  bool operator==(const Window&) const = default;
};

struct Initializer {
  enum class Kind {
    zeros,
    ones,
    random_normal,
    truncated_normal,
    random_uniform,
    variance_scaling
  };
  enum class Mode { fan_in, fan_out, fan_avg };
  enum class Distribution { normal, truncated_normal, uniform };  // of variance_scaling
  Kind kind = Kind::zeros;
  double mean = 0, stddev = 0.05;   // random_normal, truncated_normal
  double low = -0.05, high = 0.05;  // random_uniform
  double scale = 1;                 // variance_scaling, which Glorot, He and LeCun are made of
  Mode mode = Mode::fan_in;
  Distribution distribution = Distribution::truncated_normal;
};

struct Conv2D {
  std::int64_t filters = 1;
  Window kernel, strides;
  Padding padding = Padding::valid;
  Activation activation = Activation::linear;
  bool use_bias = true;
  Initializer kernel_initializer, bias_initializer;
};
struct Pooling2D {
  enum class Kind { max, average };
  Kind kind = Kind::max;
  Window size{2, 2}, strides{2, 2};
  Padding padding = Padding::valid;
};
struct GlobalAveragePooling2D {};  // the result is a vector; keepdims is refused by the reader
struct Flatten {};
struct Dense {
  std::int64_t units = 1;
  Activation activation = Activation::linear;
  bool use_bias = true;
  Initializer kernel_initializer, bias_initializer;
};
struct Dropout {
  double rate = 0;
};
struct Activate {  // Activation, ReLU and Softmax layers
  Activation function = Activation::linear;
};
struct BatchNormalization {
  double momentum = 0.99, epsilon = 1e-3;
  bool center = true, scale = true;
  Initializer beta_initializer, gamma_initializer, moving_mean_initializer,
      moving_variance_initializer;
};

using LayerKind = std::variant<Conv2D, Pooling2D, GlobalAveragePooling2D, Flatten, Dense, Dropout,
                               Activate, BatchNormalization>;

struct Layer {
  std::string name;  // unique in the network
  LayerKind kind;
  Shape input, output;
};

// A Sequential model whose shapes are all known and possible.
struct Network {
  std::string name;
  Shape input;
  std::vector<Layer> layers;  // the InputLayer is `input`, not a layer
  const Shape& output() const { return layers.empty() ? input : layers.back().output; }
};

// Pixels of padding before and after along one axis, as Keras' "same" places them.
struct Pad {
  std::int64_t before = 0, after = 0;
};
Pad padding_along(Padding padding, std::int64_t input, std::int64_t window, std::int64_t stride);

// One variable of the model, in Keras' layout: kernels are (height, width, in, out) and (in, out).
struct Parameter {
  std::string name;  // "conv2d/kernel", "batch_normalization/moving_mean"
  std::size_t layer = 0;
  std::vector<std::int64_t> shape;
  Initializer initializer;
  bool trainable = true;
  std::int64_t fan_in = 1, fan_out = 1;
  std::int64_t size() const;
};
std::vector<Parameter> parameters(const Network&);

enum class Loss { sparse_categorical_crossentropy, categorical_crossentropy, mean_squared_error };
std::string_view name(Loss);
// Cross-entropy for a network that ends in softmax, mean squared error for any other.
Loss natural_loss(const Network&);

}  // namespace sweetspot::model
