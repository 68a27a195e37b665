#include "model/keras/chain.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "model/keras/unsupported.h"

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;

[[noreturn]] void refuse_graph(const Place& place, std::string_view field, std::string_view why) {
  refuse(place, field,
         fmt::format("{}; only a chain of layers, each with one input, is trained here; {}", why,
                     other_way()));
}

// The names of the layers that a node reads: ["dense", 0, 0, {}] in Keras 2, a tensor with its
// keras_history in Keras 3. Additional arguments change what the layer does.
struct Sources {
  const Place& place;
  std::vector<std::string> names;

  void find(const json& value) {
    if (is_reference(value)) {
      names.push_back(value[0].get<std::string>());
      for (std::size_t i = 3; i < value.size(); ++i) arguments(value[i]);
    } else if (value.is_array()) {
      for (const json& item : value) find(item);
    } else if (value.is_object() && value.contains("config") && value["config"].is_object() &&
               value["config"].contains("keras_history")) {
      find(value["config"]["keras_history"]);
    } else if (value.is_object() && value.contains("args")) {
      find(value["args"]);
      if (value.contains("kwargs")) arguments(value["kwargs"], true);
    } else if (!value.is_null()) {
      refuse_graph(place, "inbound_nodes", fmt::format("{} is no layer's output", shown(value)));
    }
  }
  static bool is_reference(const json& value) {
    return value.is_array() && value.size() >= 3 && value[0].is_string() &&
           value[1].is_number_integer() && value[2].is_number_integer();
  }
  // Keras 3 writes the default of Dropout's call, training = False, as if it had been given.
  void arguments(const json& given, bool of_keras3 = false) {
    if (!given.is_object()) return;
    for (const auto& [name, value] : given.items())
      if (!value.is_null() && !(of_keras3 && name == "training" && value == false))
        refuse(place, "inbound_nodes",
               fmt::format("the layer is called with {} = {}, which is not supported; leave it out",
                           name, shown(value)));
  }
};

std::vector<std::string> sources_of(const json& value, const Place& place) {
  Sources sources{place, {}};
  sources.find(value);
  return std::move(sources.names);
}

// [["input", 0, 0]], or ["input", 0, 0] since Keras 3.
std::string only_end(Fields& config, std::string_view field) {
  const std::vector<std::string> names = sources_of(config.need(field), config.place());
  if (names.size() != 1)
    refuse_graph(config.place(), fmt::format("{}", field),
                 fmt::format("the model has {} of them", names.size()));
  return names.front();
}

}  // namespace

json chain_of(Fields& config) {
  const json& layers = config.need("layers");
  if (!layers.is_array()) config.refuse("layers", "it is not a list");
  const std::string first = only_end(config, "input_layers");
  const std::string last = only_end(config, "output_layers");

  std::map<std::string, std::size_t> follower;  // of the layer with this name
  std::optional<std::size_t> begin;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Place at = config.place();
    at.path.clear(), at.layer = fmt::format("#{}", i + 1);
    Fields layer(layers[i], at);
    const std::string name = layer.find("name") ? layer.need_text("name")
                                                : layer.need_object("config").need_text("name");
    names.push_back(name);
    at.layer = fmt::format("'{}'", name);
    const json* nodes = layer.find("inbound_nodes");
    if (name == first) {
      begin = i;
      continue;
    }
    if (!nodes || !nodes->is_array() || nodes->empty())
      refuse_graph(at, "inbound_nodes", "it has no input");
    if (nodes->size() > 1)
      refuse_graph(at, "inbound_nodes", fmt::format("it is used {} times", nodes->size()));
    const std::vector<std::string> from = sources_of(nodes->front(), at);
    if (from.size() != 1)
      refuse_graph(at, "inbound_nodes", fmt::format("it has {} inputs", from.size()));
    if (!follower.emplace(from.front(), i).second) {
      at.layer = fmt::format("'{}'", from.front());
      refuse_graph(at, "inbound_nodes", "its output is read by several layers");
    }
  }
  if (!begin)
    config.refuse("input_layers", fmt::format("there is no layer {}", shown(json(first))));

  json chain = json::array();
  for (std::size_t at = *begin;;) {
    json layer = layers[at];
    layer.erase("inbound_nodes");
    chain.push_back(std::move(layer));
    const auto next = follower.find(names[at]);
    if (next == follower.end()) {
      if (names[at] != last) config.refuse("output_layers", "the layers do not lead there");
      break;
    }
    at = next->second;
    if (chain.size() > layers.size()) config.refuse("layers", "they run in a circle");
  }
  if (chain.size() != layers.size())
    config.refuse("layers", "some of them are not between the input and the output");
  return chain;
}

}  // namespace sweetspot::model::keras
