#include "model/keras/layers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "model/keras/layer_options.h"

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;
using Kinds = std::vector<LayerKind>;

template <Pooling2D::Kind kind>
Kinds read_pooling(Fields& config, const Shape& input) {
  Pooling2D pooling;
  pooling.kind = kind;
  pooling.size = read_window(config, "pool_size", input)
                     .value_or(input.sequence ? Window{1, 2} : Window{2, 2});
  pooling.strides = read_window(config, "strides", input).value_or(pooling.size);
  pooling.padding = read_padding(config);
  only_channels_last(config);
  return {pooling};
}
constexpr Read read_max_pooling = read_pooling<Pooling2D::Kind::max>;
constexpr Read read_average_pooling = read_pooling<Pooling2D::Kind::average>;

template <class Pooling>
Kinds read_global_pooling(Fields& config, const Shape&) {
  only_channels_last(config);
  return {Pooling{config.flag("keepdims", false)}};
}
constexpr Read read_global_average = read_global_pooling<GlobalAveragePooling2D>;
constexpr Read read_global_max = read_global_pooling<GlobalMaxPooling2D>;

// Keras multiplies the last axis: for anything but a vector that is a 1×1 convolution.
Kinds read_dense(Fields& config, const Shape& input) {
  Dense dense;
  dense.units = config.need_size("units");
  dense.activation = read_activation(config, "activation", input);
  dense.use_bias = config.flag("use_bias", true);
  dense.kernel_initializer = read_initializer(config, "kernel_initializer", glorot_uniform());
  dense.bias_initializer = read_initializer(config, "bias_initializer", zeros());
  dense.kernel_regularizer = read_regularizer(config, "kernel_regularizer");
  dense.bias_regularizer = read_regularizer(config, "bias_regularizer");
  if (input.vector) return {dense};
  Conv2D conv;
  conv.filters = dense.units, conv.activation = dense.activation, conv.use_bias = dense.use_bias;
  conv.kernel_initializer = dense.kernel_initializer;
  conv.bias_initializer = dense.bias_initializer;
  conv.kernel_regularizer = dense.kernel_regularizer;
  conv.bias_regularizer = dense.bias_regularizer;
  conv.layout = Conv2D::Kernel::dense;
  return {conv};
}

double read_rate(Fields& config) {
  config.need("rate");
  config.ignore({"seed"});  // masks come from the run's own seed
  const double rate = *config.number("rate", 0, 1);
  if (rate == 1) config.refuse("rate", "1 would drop everything; use a rate below 1");
  return rate;
}

Kinds read_dropout(Fields& config, const Shape&) { return {Dropout{read_rate(config)}}; }

Kinds read_spatial_dropout(Fields& config, const Shape&) {
  only_channels_last(config);
  return {Dropout{read_rate(config), true}};
}

Kinds read_gaussian_noise(Fields& config, const Shape&) {
  config.need("stddev");
  config.ignore({"seed"});
  return {GaussianNoise{*config.number("stddev", 0, 1e30)}};
}

Kinds read_rescaling(Fields& config, const Shape&) {
  const auto number = [&](std::string_view field, double otherwise) {
    const json* given = config.find(field);
    if (given && given->is_array())
      config.refuse(field, fmt::format("{} is not supported, only one number", shown(*given)));
    return config.number(field, -1e30, 1e30).value_or(otherwise);
  };
  return {Rescaling{number("scale", 1), number("offset", 0)}};
}

Kinds read_activation_layer(Fields& config, const Shape& input) {
  config.need("activation");
  return {Activate{read_activation(config, "activation", input)}};
}

Kinds read_prelu(Fields& config, const Shape& input) {
  PReLU prelu;
  prelu.alpha_initializer = read_initializer(config, "alpha_initializer", zeros());
  prelu.alpha_regularizer = read_regularizer(config, "alpha_regularizer");
  const std::int64_t rank = input.vector ? 1 : input.sequence ? 2 : 3;
  for (const std::int64_t axis : config.counts("shared_axes")) {
    if (axis < 1 || axis > rank)
      config.refuse("shared_axes",
                    fmt::format("{} is no axis of an input of {}", axis, to_string(input)));
    (axis == rank       ? prelu.shares_channels
     : axis == rank - 1 ? prelu.shares_width
                        : prelu.shares_height) = true;
  }
  return {prelu};
}

template <class Norm>
Norm read_norm(Fields& config, const Shape& input) {
  Norm norm;
  config.only_last_axis("axis", input);
  norm.epsilon = config.number("epsilon", 0, 1).value_or(1e-3);
  norm.center = config.flag("center", true);
  norm.scale = config.flag("scale", true);
  norm.beta_initializer = read_initializer(config, "beta_initializer", zeros());
  norm.gamma_initializer = read_initializer(config, "gamma_initializer", ones());
  norm.beta_regularizer = read_regularizer(config, "beta_regularizer");
  norm.gamma_regularizer = read_regularizer(config, "gamma_regularizer");
  return norm;
}

Kinds read_batch_normalization(Fields& config, const Shape& input) {
  auto norm = read_norm<BatchNormalization>(config, input);
  norm.momentum = config.number("momentum", 0, 1).value_or(0.99);
  norm.moving_mean_initializer = read_initializer(config, "moving_mean_initializer", zeros());
  norm.moving_variance_initializer =
      read_initializer(config, "moving_variance_initializer", ones());
  config.only_off({"synchronized", "renorm"});
  config.ignore({"renorm_clipping", "renorm_momentum", "fused"});  // unused, or the same arithmetic
  return {norm};
}

Kinds read_layer_normalization(Fields& config, const Shape& input) {
  config.only_off({"rms_scaling"});
  return {read_norm<LayerNormalization>(config, input)};
}

constexpr std::string_view function_layers[] = {"ReLU", "LeakyReLU", "ThresholdedReLU", "ELU",
                                                "Softmax"};

std::vector<Reader> all_readers() {
  std::vector<Reader> all = convolution_readers();
  for (const Reader& reader : {
           Reader{"MaxPooling2D", of_image<read_max_pooling>},
           Reader{"MaxPooling1D", of_sequence<read_max_pooling>},
           Reader{"AveragePooling2D", of_image<read_average_pooling>},
           Reader{"AveragePooling1D", of_sequence<read_average_pooling>},
           Reader{"GlobalAveragePooling2D", of_image<read_global_average>},
           Reader{"GlobalAveragePooling1D", of_sequence<read_global_average>},
           Reader{"GlobalMaxPooling2D", of_image<read_global_max>},
           Reader{"GlobalMaxPooling1D", of_sequence<read_global_max>},
           Reader{"Dense", read_dense},
           Reader{"Dropout", read_dropout},
           Reader{"SpatialDropout2D", of_image<read_spatial_dropout>},
           Reader{"SpatialDropout1D", of_sequence<read_spatial_dropout>},
           Reader{"GaussianNoise", read_gaussian_noise},
           Reader{"Rescaling", read_rescaling},
           Reader{"Activation", read_activation_layer},
           Reader{"PReLU", read_prelu},
           Reader{"BatchNormalization", read_batch_normalization},
           Reader{"LayerNormalization", read_layer_normalization},
       })
    all.push_back(reader);
  const std::vector<Reader> shaping = shaping_readers();
  all.insert(all.end(), shaping.begin(), shaping.end());
  return all;
}

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = all_readers();
  return all;
}

}  // namespace

Padding read_padding(Fields& config) {
  const std::string padding = config.word("padding", "valid");
  if (padding == "valid") return Padding::valid;
  if (padding == "same") return Padding::same;
  config.refuse("padding", fmt::format("{} is neither valid nor same", shown(json(padding))));
}

void only_channels_last(Fields& config) {
  const std::string format = config.word("data_format", "channels_last");
  if (format != "channels_last")
    config.refuse("data_format",
                  fmt::format("{} is not supported, only \"channels_last\"", shown(json(format))));
}

namespace {

[[noreturn]] void refuse_rank(const Fields& config, std::string_view needs, const Shape& input,
                              std::string_view instead) {
  Place place = config.place();
  place.path.clear();
  refuse(place, "class_name",
         fmt::format("it needs {}, but its input is {} of {}; {}", needs,
                     input.vector     ? "a vector"
                     : input.sequence ? "a sequence"
                                      : "an image",
                     to_string(input), instead));
}

}  // namespace

void need_image(const Fields& config, const Shape& input) {
  if (input.vector)
    refuse_rank(config, "an image (height, width, channels)", input, "put it before Flatten");
  if (input.sequence)
    refuse_rank(config, "an image (height, width, channels)", input, "use its 1D form, or Reshape");
}

void need_sequence(const Fields& config, const Shape& input) {
  if (input.vector)
    refuse_rank(config, "a sequence (steps, channels)", input,
                "put it before Flatten, or Reshape before it");
  if (!input.sequence)
    refuse_rank(config, "a sequence (steps, channels)", input, "use its 2D form, or Reshape");
}

std::optional<Window> read_window(Fields& config, std::string_view field, const Shape& input) {
  if (!input.sequence) return config.window(field);
  const std::optional<std::int64_t> length = config.length(field);
  return length ? std::optional(Window{1, *length}) : std::nullopt;
}

std::vector<LayerKind> read_layer(const std::string& class_name, Fields& config,
                                  const Shape& input) {
  if (const std::optional<Activation> function = read_function_layer(class_name, config, input))
    return {Activate{*function}};
  for (const Reader& reader : readers())
    if (reader.class_name == class_name) return reader.read(config, input);
  return {};
}

std::vector<std::string_view> known_layers() {
  std::vector<std::string_view> names{"InputLayer"};
  for (const Reader& reader : readers()) names.push_back(reader.class_name);
  names.insert(names.end(), std::begin(function_layers), std::end(function_layers));
  return names;
}

}  // namespace sweetspot::model::keras
