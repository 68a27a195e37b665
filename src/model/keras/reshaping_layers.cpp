#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/keras/layers.h"
#include "model/keras/shapes.h"

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;
using Kinds = std::vector<LayerKind>;

Kinds read_flatten(Fields& config, const Shape&) {
  only_channels_last(config);
  return {Flatten{}};
}

// n, or before and after, or both of each axis.
Border read_border(Fields& config, std::string_view field, const Shape& input,
                   std::int64_t otherwise) {
  std::vector<std::int64_t> n = config.counts(field);
  if (n.empty()) n = {otherwise};
  only_channels_last(config);
  Border border;
  if (input.sequence) {
    if (n.size() == 1) n = {n[0], n[0]};
    if (n.size() != 2) config.refuse(field, "it is neither a number nor one before and one after");
    border.left = n[0], border.right = n[1];
    return border;
  }
  if (n.size() == 1) n = {n[0], n[0]};
  if (n.size() == 2) n = {n[0], n[0], n[1], n[1]};
  if (n.size() != 4)
    config.refuse(field, "it is neither a number, nor one of each axis, nor a pair of each");
  border.top = n[0], border.bottom = n[1], border.left = n[2], border.right = n[3];
  return border;
}

Kinds read_zero_padding(Fields& config, const Shape& input) {
  return {read_border(config, "padding", input, 1)};
}

Kinds read_cropping(Fields& config, const Shape& input) {
  const Border b = read_border(config, "cropping", input, input.sequence ? 1 : 0);
  return {Border{-b.top, -b.bottom, -b.left, -b.right}};
}

Kinds read_up_sampling(Fields& config, const Shape& input) {
  const Window size =
      read_window(config, "size", input).value_or(input.sequence ? Window{1, 2} : Window{2, 2});
  only_channels_last(config);
  const std::string way = config.word("interpolation", "nearest");
  if (way != "nearest")
    config.refuse("interpolation",
                  fmt::format("{} is not supported, only \"nearest\"", shown(json(way))));
  return {Repeat{size.height, size.width, 1}};
}

std::vector<std::int64_t> sizes_of(const Shape& shape) {
  if (shape.vector) return {shape.channels};
  if (shape.sequence) return {shape.width, shape.channels};
  return {shape.height, shape.width, shape.channels};
}

Kinds read_reshape(Fields& config, const Shape& input) {
  const json& target = config.need("target_shape");
  if (!target.is_array() || target.empty() || target.size() > 3)
    config.refuse("target_shape",
                  fmt::format("{} is none of [height, width, channels], [steps, channels] and "
                              "[features]",
                              shown(target)));
  std::vector<std::int64_t> sizes;
  std::int64_t known = 1;
  for (const json& item : target) {
    const bool open = item == -1;
    sizes.push_back(open ? -1 : config.as_size("target_shape", item));
    if (!open && sizes.back() > input.size() / known)
      known = input.size() + 1;  // it does not fit, whatever follows
    else if (!open)
      known *= sizes.back();
    if (known > input.size()) break;
  }
  const auto open = std::ranges::count(sizes, -1);
  const bool fits = open == 0 ? known == input.size()
                              : open == 1 && known <= input.size() && input.size() % known == 0;
  if (!fits || sizes.size() != target.size())
    config.refuse("target_shape", fmt::format("{} does not hold the {} values of an input of {}",
                                              shown(target), input.size(), to_string(input)));
  std::ranges::replace(sizes, -1, input.size() / known);
  Rearrange rearrange;
  rearrange.target = shape_of(sizes, config.place(), "target_shape");
  return {rearrange};
}

Kinds read_permute(Fields& config, const Shape& input) {
  const std::vector<std::int64_t> from = sizes_of(input);
  const std::vector<std::int64_t> dims = config.counts("dims");
  std::vector<std::int64_t> sorted = dims, sizes, every;
  std::ranges::sort(sorted);
  for (std::size_t i = 1; i <= from.size(); ++i) every.push_back(static_cast<std::int64_t>(i));
  if (sorted != every)
    config.refuse("dims",
                  fmt::format("it does not name each of the axes 1 to {} once", from.size()));
  Rearrange rearrange;
  // A sequence and a vector lack the first axes of an image.
  const int lacking = 3 - static_cast<int>(from.size());
  rearrange.axes = {0, 1, 2};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    sizes.push_back(from[static_cast<std::size_t>(dims[i] - 1)]);
    (*rearrange.axes)[i + static_cast<std::size_t>(lacking)] =
        lacking + static_cast<int>(dims[i]) - 1;
  }
  rearrange.target = shape_of(sizes, config.place(), "dims");
  return {rearrange};
}

}  // namespace

std::vector<Reader> shaping_readers() {
  return {{"Flatten", read_flatten},
          {"ZeroPadding2D", of_image<read_zero_padding>},
          {"ZeroPadding1D", of_sequence<read_zero_padding>},
          {"Cropping2D", of_image<read_cropping>},
          {"Cropping1D", of_sequence<read_cropping>},
          {"UpSampling2D", of_image<read_up_sampling>},
          {"UpSampling1D", of_sequence<read_up_sampling>},
          {"Reshape", read_reshape},
          {"Permute", read_permute}};
}

}  // namespace sweetspot::model::keras
