#include <fmt/format.h>

#include "model/keras/shapes.h"

namespace sweetspot::model::keras {
namespace {

// Sums and products in double, since they may overflow any integer before they are refused.
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
