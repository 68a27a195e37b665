#include "model/keras/shapes.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;

constexpr double max_elements = 0x1p31;  // of one sample, 8 GiB in fp32

// In double, since the product may overflow any integer before it is rejected.
double elements(const Shape& shape) {
  return static_cast<double>(shape.height) * static_cast<double>(shape.width) *
         static_cast<double>(shape.channels);
}

Shape checked(const Shape& shape, const Place& place, std::string_view field) {
  if (elements(shape) <= max_elements) return shape;
  refuse(place, field,
         fmt::format("a sample of {} values is too large, the limit is 2^31", to_string(shape)));
}

struct Inference {
  const Shape& input;
  const Place& place;

  void need_image() const {
    if (input.vector)
      refuse(place, "class_name",
             fmt::format("it needs an image (height, width, channels), but "
                         "its input is a vector of {}; put it before Flatten",
                         input.channels));
  }
  // Of the same rank as the input.
  Shape image(std::int64_t height, std::int64_t width, std::int64_t channels) const {
    return {height, width, channels, false, input.sequence};
  }
  std::int64_t along(std::int64_t size, std::int64_t window, std::int64_t stride, Padding padding,
                     std::string_view field) const {
    if (padding == Padding::same) return (size + stride - 1) / stride;
    if (window <= size) return (size - window) / stride + 1;
    refuse(place, field,
           fmt::format("a window of {} does not fit an input of {}; make it smaller "
                       "or pad with \"same\"",
                       window, to_string(input)));
  }
  Shape slide(const Window& window, const Window& strides, Padding padding, std::int64_t channels,
              std::string_view field) const {
    need_image();
    return image(along(input.height, window.height, strides.height, padding, field),
                 along(input.width, window.width, strides.width, padding, field), channels);
  }

  Shape operator()(const Conv2D& conv) const {
    return checked(slide(conv.kernel, conv.strides, conv.padding, conv.filters, "kernel_size"),
                   place, "filters");
  }
  Shape operator()(const DepthwiseConv2D& conv) const {
    return slide(conv.kernel, conv.strides, conv.padding, input.channels, "kernel_size");
  }
  Shape operator()(const Pooling2D& pooling) const {
    return slide(pooling.size, pooling.strides, pooling.padding, input.channels, "pool_size");
  }
  Shape global(bool keepdims) const {
    need_image();
    return keepdims ? image(1, 1, input.channels) : Shape::of_vector(input.channels);
  }
  Shape operator()(const GlobalAveragePooling2D& pooling) const { return global(pooling.keepdims); }
  Shape operator()(const GlobalMaxPooling2D& pooling) const { return global(pooling.keepdims); }
  Shape operator()(const Border& border) const {
    need_image();
    const auto size = [&](std::int64_t from, std::int64_t spread, std::int64_t before,
                          std::int64_t after) {
      const double exact = static_cast<double>(from - 1) * static_cast<double>(spread) + 1 +
                           static_cast<double>(before) + static_cast<double>(after);
      if (exact < 1)
        refuse(place, "class_name",
               fmt::format("nothing is left of its input of {}; crop less", to_string(input)));
      if (exact > static_cast<double>(max_size))
        refuse(place, "class_name", "its output is larger than 2^31; make it smaller");
      return static_cast<std::int64_t>(exact);
    };
    return checked(
        image(size(input.height, border.spread.height, border.top, border.bottom),
              size(input.width, border.spread.width, border.left, border.right), input.channels),
        place, "class_name");
  }
  Shape operator()(const Repeat& repeat) const {
    if (repeat.height * repeat.width > 1) need_image();
    // Each factor is below 2^31, and so is what it multiplies.
    Shape out = input;
    out.height *= repeat.height, out.width *= repeat.width, out.channels *= repeat.channels;
    return checked(out, place, "class_name");
  }
  Shape operator()(const Rearrange& rearrange) const { return rearrange.target; }
  Shape operator()(const Flatten&) const { return Shape::of_vector(input.size()); }
  Shape operator()(const Dense& dense) const {
    if (!input.vector)
      refuse(place, "class_name",
             fmt::format("Dense needs a vector, but its input is an image of "
                         "{}; put Flatten before it",
                         to_string(input)));
    return checked(Shape::of_vector(dense.units), place, "units");
  }
  Shape operator()(const auto&) const { return input; }
};

}  // namespace

std::optional<Shape> read_shape(Fields& fields, std::string_view field) {
  const json* value = fields.find(field);
  if (!value) return std::nullopt;
  if (!value->is_array() || value->size() < 2 || value->size() > 4)
    fields.refuse(field, fmt::format("{} is none of [null, height, width, channels], "
                                     "[null, steps, channels] and [null, features]",
                                     shown(*value)));
  // A first number that is not null fixes the batch, which we vary; no layer's arithmetic depends
  // on it.
  std::array<std::int64_t, 3> sizes{};
  for (std::size_t i = 1; i < value->size(); ++i) sizes[i - 1] = fields.as_size(field, (*value)[i]);
  return shape_of(std::span(sizes).first(value->size() - 1), fields.place(), field);
}

Shape shape_of(std::span<const std::int64_t> sizes, const Place& place, std::string_view field) {
  return checked(sizes.size() == 1   ? Shape::of_vector(sizes[0])
                 : sizes.size() == 2 ? Shape::of_sequence(sizes[0], sizes[1])
                                     : Shape{sizes[0], sizes[1], sizes[2]},
                 place, field);
}

Shape output_shape(const LayerKind& kind, const Shape& input, const Place& place) {
  return std::visit(Inference{input, place}, kind);
}

namespace {

// Sums and products in double, since they may overflow any integer before they are rejected.
constexpr double max_parameters = 0x1p40;       // 4 TiB
constexpr double max_multiplications = 0x1p59;  // of one sample, forward: training fits an int64

double weights(const Layer& layer) {
  const auto in = static_cast<double>(layer.input.channels);
  if (const auto* conv = std::get_if<Conv2D>(&layer.kind))
    return static_cast<double>(conv->kernel.height) * static_cast<double>(conv->kernel.width) * in *
           static_cast<double>(conv->filters);
  if (const auto* conv = std::get_if<DepthwiseConv2D>(&layer.kind))
    return static_cast<double>(conv->kernel.height) * static_cast<double>(conv->kernel.width) * in;
  if (const auto* dense = std::get_if<Dense>(&layer.kind))
    return in * static_cast<double>(dense->units);
  if (std::holds_alternative<PReLU>(layer.kind)) return static_cast<double>(layer.input.size());
  return 4 * in;  // batch normalisation has four vectors, the others less
}

double multiplications(const Layer& layer) {
  const double positions =
      static_cast<double>(layer.output.size()) / static_cast<double>(layer.output.channels);
  if (const auto* pooling = std::get_if<Pooling2D>(&layer.kind))
    return static_cast<double>(layer.output.size()) * static_cast<double>(pooling->size.height) *
           static_cast<double>(pooling->size.width);
  return positions * weights(layer);
}

}  // namespace

void check_totals(const Network& network, const Place& place) {
  double parameters = 0, arithmetic = 0;
  for (const Layer& layer : network.layers) {
    Place at = place;
    at.layer = fmt::format("'{}'", layer.name);
    parameters += weights(layer);
    arithmetic += multiplications(layer);
    if (parameters > max_parameters)
      refuse(at, "class_name",
             "with it the network has more than 2^40 parameters; make it smaller");
    if (arithmetic > max_multiplications)
      refuse(at, "class_name",
             "with it a sample takes more than 2^59 multiplications; make it smaller");
  }
}

}  // namespace sweetspot::model::keras
