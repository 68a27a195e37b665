#include "engine/cpu/flatten.h"

#include <algorithm>

#include "engine/extents.h"

namespace sweetspot::engine::cpu {
namespace {

// Moving an element there and its gradient back takes as long as its products with some columns.
constexpr std::int64_t least_columns = 48;

bool wastes_much(const model::Shape& image) {
  return image.size() > image.channels && 4 * round_up(image.channels, unit) >= 5 * image.channels;
}

}  // namespace

model::Network with_cheap_flattening(model::Network network) {
  network = flattened_first(std::move(network));
  const auto is_flatten = [](const model::Layer& layer) {
    return std::holds_alternative<model::Flatten>(layer.kind);
  };
  const auto is_dense = [](const model::Layer& layer) {
    return std::holds_alternative<model::Dense>(layer.kind);
  };
  const auto flatten = std::ranges::find_if(network.layers, is_flatten);
  const auto dense = std::find_if(flatten, network.layers.end(), is_dense);
  if (dense != network.layers.end() && !flatten->input.vector && wastes_much(flatten->input) &&
      std::get<model::Dense>(dense->kind).units >= least_columns)
    flatten->kind = model::Rearrange{.target = flatten->output, .axes = std::nullopt};
  return network;
}

}  // namespace sweetspot::engine::cpu
