#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace sweetspot::model {

// The shape of one sample: an image (height, width, channels last, as in Keras), a sequence or a
// vector.
struct Shape {
  std::int64_t height = 1, width = 1, channels = 1;
  bool vector = false;    // (channels) rather than (1, 1, channels)
  bool sequence = false;  // (width, channels) rather than (1, width, channels)

  static Shape of_vector(std::int64_t n) { return {1, 1, n, true}; }
  static Shape of_sequence(std::int64_t steps, std::int64_t channels) {
    return {1, steps, channels, false, true};
  }
  std::int64_t size() const { return height * width * channels; }
  bool operator==(const Shape&) const = default;
};
std::string to_string(const Shape&);  // "28×28×1", "100×3" or "500"

// A function of each element (softmax: of each vector) with its constants. It converts to its kind
// and back, since most have no constants.
struct Activation {
  enum Kind {
    linear,
    relu,
    softmax,
    sigmoid,
    tanh,
    rectified,  // x from `threshold` on, at most `most`; below it slope · (x − threshold)
    elu,        // x > 0 ? x : slope · (eˣ − 1)
    selu,       // the same with Klambauer's constants
    gelu,       // x · Φ(x)
    gelu_tanh,  // its approximation by tanh
    swish,      // x · sigmoid(x)
    softplus,   // log(1 + eˣ)
    softsign,   // x / (1 + |x|)
    exponential,
    hard_sigmoid,  // slope · x + ½ between 0 and 1
  };
  Kind kind = linear;
  float slope = 0, threshold = 0, most = std::numeric_limits<float>::infinity();

  Activation() = default;
  Activation(Kind which) : kind(which) {}  // NOLINT: a kind is an activation
  Activation(Kind which, float with_slope) : kind(which), slope(with_slope) {}
  operator Kind() const { return kind; }  // NOLINT
};
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

// A penalty in the loss for each weight: l1 · |w| + l2 · w².
struct Regularizer {
  double l1 = 0, l2 = 0;
  explicit operator bool() const { return l1 != 0 || l2 != 0; }
};

// Also Conv1D, over a sequence; the last step of SeparableConv and of Conv2DTranspose; and Dense
// over anything but a vector.
struct Conv2D {
  enum class Kernel {
    conv,       // (height, width, in, out); of a sequence (width, in, out)
    dense,      // (in, out)
    pointwise,  // as `conv`, of a separable convolution
    turned,     // (height, width, out, in), flipped: of a transposed convolution
  };
  std::int64_t filters = 1;
  Window kernel, strides;
  Padding padding = Padding::valid;
  Activation activation = Activation::linear;
  bool use_bias = true;
  Initializer kernel_initializer, bias_initializer;
  Regularizer kernel_regularizer, bias_regularizer;
  Kernel layout = Kernel::conv;
  Window spread{1, 1};  // zeros in its input: one of this many positions has a value
};
// Each channel has its own filter. Also the first step of SeparableConv, and convolutions with as
// many groups as channels.
struct DepthwiseConv2D {
  enum class Kernel {
    depthwise,  // (height, width, channels, multiplier); of a sequence (width, channels, …)
    grouped,    // (height, width, 1, channels): a Conv2D's
  };
  std::int64_t multiplier = 1;  // repetition of the channels before it
  Window kernel, strides;
  Padding padding = Padding::valid;
  Activation activation = Activation::linear;
  bool use_bias = true;
  Initializer kernel_initializer, bias_initializer;
  Regularizer kernel_regularizer, bias_regularizer;
  Kernel layout = Kernel::depthwise;
};
struct Pooling2D {
  enum class Kind { max, average };
  Kind kind = Kind::max;
  Window size{2, 2}, strides{2, 2};
  Padding padding = Padding::valid;
};
struct GlobalAveragePooling2D {
  bool keepdims = false;  // (1, 1, channels) rather than a vector
};
struct GlobalMaxPooling2D {
  bool keepdims = false;
};
struct Flatten {};
// Zeros around an image (or cropping, if negative) and between its positions: ZeroPadding,
// Cropping, and the first step of Conv2DTranspose.
struct Border {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  Window spread{1, 1};  // from one position to the next
};
// Repeats each position, or channel: UpSampling, and a depthwise convolution's multiplier.
struct Repeat {
  std::int64_t height = 1, width = 1, channels = 1;
};
// The same elements in another shape or order: Reshape, Permute.
struct Rearrange {
  Shape target;
  // Axis i of the target (height, width, channels) is this axis of the input, with its elements;
  // nullopt: the elements keep their order.
  std::optional<std::array<int, 3>> axes;
};
struct Dense {
  std::int64_t units = 1;
  Activation activation = Activation::linear;
  bool use_bias = true;
  Initializer kernel_initializer, bias_initializer;
  Regularizer kernel_regularizer, bias_regularizer;
};
struct Dropout {
  double rate = 0;
  bool whole_channels = false;  // SpatialDropout
};
struct GaussianNoise {
  double stddev = 0;
};
struct Rescaling {
  double scale = 1, offset = 0;
};
struct Activate {  // Activation layers, and those named after a function
  Activation function = Activation::linear;
};
struct PReLU {
  bool shares_height = false, shares_width = false, shares_channels = false;
  Initializer alpha_initializer;
  Regularizer alpha_regularizer;
};
struct BatchNormalization {
  double momentum = 0.99, epsilon = 1e-3;
  bool center = true, scale = true;
  Initializer beta_initializer, gamma_initializer, moving_mean_initializer,
      moving_variance_initializer;
  Regularizer beta_regularizer, gamma_regularizer;
};
struct LayerNormalization {  // over the channels of each position, or over a vector
  double epsilon = 1e-3;
  bool center = true, scale = true;
  Initializer beta_initializer, gamma_initializer;
  Regularizer beta_regularizer, gamma_regularizer;
};

using LayerKind =
    std::variant<Conv2D, Pooling2D, GlobalAveragePooling2D, Flatten, Dense, Dropout, Activate,
                 BatchNormalization, DepthwiseConv2D, GlobalMaxPooling2D, Border, Repeat, Rearrange,
                 GaussianNoise, Rescaling, PReLU, LayerNormalization>;

struct Layer {
  std::string name;  // of Keras' layer, which may become several internal ones
  LayerKind kind;
  Shape input, output;
  std::string class_name;  // in Keras: "SeparableConv2D"
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

// One variable of the model, in Keras' layout.
struct Parameter {
  std::string name;  // "conv2d/kernel", "batch_normalization/moving_mean"
  std::size_t layer = 0;
  std::vector<std::int64_t> shape;
  Initializer initializer;
  bool trainable = true;
  std::int64_t fan_in = 1, fan_out = 1;
  Regularizer regularizer{};
  std::int64_t size() const;
};
std::vector<Parameter> parameters(const Network&);

enum class Loss { sparse_categorical_crossentropy, categorical_crossentropy, mean_squared_error };
std::string_view name(Loss);
// Cross-entropy for a network that ends in softmax, mean squared error for any other.
Loss natural_loss(const Network&);

}  // namespace sweetspot::model
