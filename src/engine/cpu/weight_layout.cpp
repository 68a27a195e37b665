#include <numeric>

#include "engine/cpu/compiled_plan.h"
#include "engine/cpu/few_channels.h"
#include "engine/cpu/flatten.h"
#include "engine/cpu/ops/conv.h"
#include "engine/cpu/ops/ops.h"
#include "engine/extents.h"

namespace sweetspot::engine::cpu {
namespace {

std::vector<std::int32_t> in_order(std::int64_t count) {
  std::vector<std::int32_t> place(static_cast<std::size_t>(count));
  std::iota(place.begin(), place.end(), 0);
  return place;
}

}  // namespace

WeightLayout weight_layout(const model::Network& given) {
  const model::Network network = with_cheap_flattening(given);
  const std::vector<Extent> extents = live_extents(network);
  WeightLayout layout;
  for (const model::Parameter& parameter : model::parameters(network)) {
    const model::Layer& layer = network.layers[parameter.layer];
    const Extent& in = extents[parameter.layer];
    const bool kernel = parameter.shape.size() > 1;
    const auto* conv = std::get_if<model::Conv2D>(&layer.kind);
    const auto* depthwise = std::get_if<model::DepthwiseConv2D>(&layer.kind);
    const bool norm = std::holds_alternative<model::BatchNormalization>(layer.kind) ||
                      std::holds_alternative<model::LayerNormalization>(layer.kind);
    if (kernel && conv) {
      const bool transposed = runs_transposed(network, parameter.layer);
      ConvGeometry g = transposed ? transposed_geometry(network, extents, parameter.layer)
                                  : conv_geometry(network, extents, parameter.layer);
      const bool exchanged = !transposed && runs_from_few(g);
      if (exchanged) g = from_few(g);
      // Of the two exchanges a transposed layer to few channels needs neither.
      const bool turned =
          (conv->layout == model::Conv2D::Kernel::turned && !transposed) != exchanged;
      layout.add_matrix(parameter, g.depth(), conv_rows(g), turned ? g.out.channels : 0);
    } else if (kernel && depthwise) {
      const std::int64_t taps = depthwise->kernel.height * depthwise->kernel.width;
      layout.add_vector(parameter, taps * in.units() * unit, depthwise_places(taps, in.channels));
    } else if (kernel && std::holds_alternative<model::Dense>(layer.kind)) {
      layout.add_matrix(parameter, in.floats(), keras_positions(in));
    } else if (norm && layer.input.vector) {
      layout.add_vector(parameter, in.floats(), keras_positions(in));
    } else {
      layout.add_vector(parameter, round_up(parameter.size(), unit), in_order(parameter.size()));
    }
  }
  layout.lay_out();
  return layout;
}

}  // namespace sweetspot::engine::cpu
