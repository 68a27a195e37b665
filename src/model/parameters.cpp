#include <utility>

#include "model/network.h"

namespace sweetspot::model {
namespace {

// Adds one layer's variables in the order Keras lists them.
struct Lister {
  const Layer& layer;
  std::size_t index;
  std::vector<Parameter>& list;

  void add(const char* variable, std::vector<std::int64_t> shape, const Initializer& initializer,
           std::int64_t fan_in, std::int64_t fan_out, bool trainable = true) {
    list.push_back({layer.name + "/" + variable, index, std::move(shape), initializer, trainable,
                    fan_in, fan_out});
  }
  // Keras takes the length of a one-dimensional variable for both of its fans.
  void add_vector(const char* variable, std::int64_t length, const Initializer& initializer,
                  bool trainable = true) {
    add(variable, {length}, initializer, length, length, trainable);
  }

  void operator()(const Conv2D& conv) {
    const std::int64_t in = layer.input.channels, out = conv.filters;
    const std::int64_t area = conv.kernel.height * conv.kernel.width;
    add("kernel", {conv.kernel.height, conv.kernel.width, in, out}, conv.kernel_initializer,
        area * in, area * out);
    if (conv.use_bias) add_vector("bias", out, conv.bias_initializer);
  }
  void operator()(const Dense& dense) {
    const std::int64_t in = layer.input.channels, out = dense.units;
    add("kernel", {in, out}, dense.kernel_initializer, in, out);
    if (dense.use_bias) add_vector("bias", out, dense.bias_initializer);
  }
  void operator()(const BatchNormalization& norm) {
    const std::int64_t channels = layer.input.channels;
    if (norm.scale) add_vector("gamma", channels, norm.gamma_initializer);
    if (norm.center) add_vector("beta", channels, norm.beta_initializer);
    add_vector("moving_mean", channels, norm.moving_mean_initializer, false);
    add_vector("moving_variance", channels, norm.moving_variance_initializer, false);
  }
  void operator()(const auto&) {}
};

}  // namespace

std::vector<Parameter> parameters(const Network& network) {
  std::vector<Parameter> list;
  for (std::size_t i = 0; i < network.layers.size(); ++i)
    std::visit(Lister{network.layers[i], i, list}, network.layers[i].kind);
  return list;
}

}  // namespace sweetspot::model
