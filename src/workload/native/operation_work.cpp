#include "workload/native/operation_work.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "model/counts.h"

namespace sweetspot::workload::native {
namespace {

constexpr double float_bytes = sizeof(float);

// Floats that an update moves per weight: its gradient is read, weight and moments are read and
// written.
double update_floats(engine::Optimizer::Kind kind) {
  switch (kind) {
    case engine::Optimizer::Kind::sgd:
      return 3;
    case engine::Optimizer::Kind::momentum:
    case engine::Optimizer::Kind::nesterov:
      return 5;
    case engine::Optimizer::Kind::adam:
    case engine::Optimizer::Kind::adamw:
      return 7;
  }
  return 3;
}

class Network {
 public:
  Network(const model::Network& network, const trial::Setting& setting,
          engine::Optimizer::Kind optimizer)
      : network_(network),
        batch_(static_cast<double>(setting.batch)),
        passes_(static_cast<double>(setting.accumulation)),
        update_floats_(update_floats(optimizer)),
        trained_(network.layers.size()) {
    for (const model::Parameter& parameter : model::parameters(network))
      if (parameter.trainable) trained_[parameter.layer] += static_cast<double>(parameter.size());
  }

  // The layer of each operation, in the layers' order; nullopt for the input's copy and the loss.
  // Several internal layers have the name of their Keras layer: each has its operation, and further
  // ones under that name belong to the last of them.
  std::vector<std::optional<std::size_t>> layers_of(
      std::span<const engine::Operation> operations) const {
    std::vector<std::optional<std::size_t>> list;
    std::size_t next = 0;  // after the last that was found
    for (const engine::Operation& operation : operations) {
      const auto named = [&](const model::Layer& layer) { return layer.name == operation.name; };
      const auto begin = network_.layers.begin();
      const auto found =
          std::find_if(begin + static_cast<std::ptrdiff_t>(next), network_.layers.end(), named);
      if (found != network_.layers.end()) {
        list.emplace_back(found - begin);
        // Zeros between positions that are never written are not an operation.
        if (spreads(*list.back()) &&
            operation.implementation.find("transposed") != std::string::npos)
          ++*list.back();
        next = *list.back() + 1;
      } else if (next > 0 && named(network_.layers[next - 1]))
        list.emplace_back(next - 1);
      else
        list.emplace_back();
    }
    return list;
  }

  // Layers [first, end), run as one operation: intermediate values are never stored.
  Work of_layers(std::size_t first, std::size_t end) const {
    // The input of a transposed convolution has no zeros between its positions.
    const std::size_t reader = first > 0 && spreads(first - 1) ? first - 1 : first;
    const auto in = static_cast<double>(network_.layers[reader].input.size());
    const auto out = static_cast<double>(network_.layers[end - 1].output.size());
    const double trained = trained_in(first, end);
    double flops = 0;
    for (std::size_t i = first; i < end; ++i)
      flops += static_cast<double>(model::counts(network_, i).training_flops);
    // Forward: the input and the output. Backward: the output's gradient, and the input's if
    // anything before needs it; for weight gradients the input once more.
    double floats = batch_ * (in + 2 * out + (first > 0 ? in : 0) + (trained > 0 ? in : 0));
    floats += trained * (2 * passes_ + 1);  // read in both passes, and their gradients
    return {batch_ * flops, float_bytes * floats};
  }

  // Batch normalisation may run in several operations, none of which is an activation's.
  bool is_norm(std::size_t layer) const {
    return std::holds_alternative<model::BatchNormalization>(network_.layers[layer].kind);
  }

  // The activation of a layer whose product is another operation.
  Work of_activation(std::size_t layer) const {
    const auto size = static_cast<double>(network_.layers[layer].output.size());
    // Read and written forward; backward, its output and both gradients.
    return {2 * batch_ * size, 5 * float_bytes * batch_ * size};
  }

  // An operation of no layer, which reads and writes this many values per sample.
  Work of_values(std::int64_t values) const {
    const double size = batch_ * static_cast<double>(values);
    return {size, 2 * float_bytes * size};
  }

  Work of_update(double trained) const {
    return {2 * trained, float_bytes * update_floats_ * trained};
  }

  // The first step of a transposed convolution.
  bool spreads(std::size_t layer) const {
    const auto* border = std::get_if<model::Border>(&network_.layers[layer].kind);
    return border && border->spread != model::Window{1, 1};
  }

  double trained_in(std::size_t first, std::size_t end) const {
    return std::accumulate(trained_.begin() + static_cast<std::ptrdiff_t>(first),
                           trained_.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
  }

 private:
  const model::Network& network_;
  double batch_, passes_, update_floats_;
  std::vector<double> trained_;  // weights of each layer
};

}  // namespace

std::vector<Work> least_work(const model::Network& network,
                             std::span<const engine::Operation> operations,
                             const trial::Setting& setting, engine::Optimizer::Kind optimizer) {
  const Network asked(network, setting, optimizer);
  std::vector<Work> list;
  if (operations.empty()) return list;
  const auto single = operations.first(operations.size() - 1);
  const auto layers = asked.layers_of(single);
  double left = asked.trained_in(0, network.layers.size());  // for the last operation to update
  std::optional<std::size_t> before;                         // the layer of the previous operation
  for (std::size_t i = 0; i < single.size(); ++i) {
    const std::optional<std::size_t> layer = layers[i];
    if (!layer) {  // the first is the input's copy, any other the loss
      list.push_back(asked.of_values(i == 0 ? network.input.size() : network.output().size()));
      continue;
    }
    if (layer == before) {
      list.push_back(asked.is_norm(*layer) ? list.back() : asked.of_activation(*layer));
      continue;
    }
    // Layers up to the next operation's run in this one.
    std::size_t end = network.layers.size();
    for (std::size_t later = i + 1; later < layers.size(); ++later)
      if (layers[later] && *layers[later] > *layer) end = std::min(end, *layers[later]);
    Work work = asked.of_layers(*layer, end);
    if (single[i].updates_weights && setting.accumulation == 1) {
      const double trained = asked.trained_in(*layer, end);
      const Work update = asked.of_update(trained);
      work.flops += update.flops, work.bytes += update.bytes, left -= trained;
    }
    if (asked.is_norm(*layer)) {  // equal shares, since they pass over the same values
      const auto parts = static_cast<double>(std::ranges::count(layers, layer));
      work.flops /= parts, work.bytes /= parts;
    }
    list.push_back(work);
    before = layer;
  }
  list.push_back(asked.of_update(left));
  return list;
}

}  // namespace sweetspot::workload::native
