#include "model/keras.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "model/keras/chain.h"
#include "model/keras/fields.h"
#include "model/keras/json.h"
#include "model/keras/layers.h"
#include "model/keras/shapes.h"
#include "model/keras/unsupported.h"
#include "model/zoo/entries.h"

namespace sweetspot::model {
namespace {

using nlohmann::json;
using namespace keras;

// Unwraps what TF.js' and Keras' savers add: modelTopology, model_config, and a string of JSON in
// JSON, as made by JSON.stringify(model.toJSON()).
json unwrap(json value, std::string_view source) {
  constexpr int most_wrappings = 5;
  for (int i = 0; i < most_wrappings; ++i) {
    if (value.is_string())
      value = parse(value.get<std::string>(), source);
    else if (value.is_object() && value.contains("model_topology"))
      value = json(std::move(value["model_topology"]));
    else if (value.is_object() && value.contains("model_config"))
      value = json(std::move(value["model_config"]));
    else
      break;
  }
  return value;
}

// Keras 3 writes the module of each class and no version; Keras 2 and TF.js write a version.
bool by_keras3(const json& model) {
  if (!model.is_object()) return false;
  const auto version = model.find("keras_version");
  if (version != model.end() && version->is_string())
    return version->get<std::string>().starts_with("3");
  return model.contains("module");
}

std::string read_name(Fields& config) {
  constexpr std::size_t longest = 200;
  std::string name = config.need_text("name");
  if (name.empty() || name.size() > longest || core::printable(name) != name)
    config.refuse("name", fmt::format("{} is empty, too long or not printable; rename it",
                                      shown(json(name))));
  return name;
}

void read_common(Fields& config) {
  if (!config.flag("trainable", true))
    config.refuse("trainable", "false is not supported; every layer is trained");
  only_float32(config, "dtype");
  config.only_off({"dynamic", "stateful"});
}

class SequentialReader {
 public:
  SequentialReader(std::string_view source, bool keras3)
      : place_{std::string(source), "", "", keras3} {}

  Network read(const json& model) {
    Fields object(model, place_);
    const std::string class_name = object.need_text("class_name");
    const bool functional = class_name == "Functional" || class_name == "Model";
    if (class_name != "Sequential" && !functional)
      object.refuse("class_name",
                    fmt::format("{} is not supported; build it as a Sequential model, or {}",
                                shown(json(class_name)), other_way()));
    // Before Keras 2.2.3 the configuration was the bare list of layers.
    if (object.need("config").is_array()) {
      network_.name = "sequential";
      read_layers(object.need("config"), "config");
    } else {
      Fields config = object.need_object("config");
      const json* all = config.find("layers");
      if (all && all->is_array()) refuse_unknown_layers(*all, place_);
      network_.name = read_name(config);
      read_common(config);
      input_ = read_shape(config, "build_input_shape");
      const json& given = config.need("layers");
      if (!given.is_array()) config.refuse("layers", "it is not a list");
      const json layers = functional ? chain_of(config) : given;
      config.finish();
      read_layers(layers, "config.layers");
    }
    check_totals(network_, place_);
    return std::move(network_);
  }

 private:
  void read_layers(const json& layers, std::string_view field) {
    refuse_unknown_layers(layers, place_);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      Place place = place_;
      place.layer = fmt::format("#{}", i + 1);
      read_one(layers[i], place, i == 0);
    }
    if (network_.layers.empty()) refuse(place_, field, "it has no layers to train");
  }

  void read_one(const json& layer, const Place& place, bool first) {
    auto [class_name, config] = class_and_config(Fields(layer, place));
    const std::string name = read_name(config);
    Place named = place;
    named.layer = fmt::format("'{}'", name);
    config = Fields(layer.at("config"), named);  // from here on messages have its name
    config.ignore({"name"});
    if (!names_.insert(name).second)
      config.refuse("name", "it is the name of an earlier layer too; give each its own");
    read_common(config);
    read_input(config, named);
    if (class_name == "InputLayer") {
      if (!first) refuse(named, "class_name", "\"InputLayer\" is not the first layer");
      config.only_off({"sparse", "ragged", "optional"});
      return config.finish();
    }
    for (LayerKind& kind : read_layer(class_name, config, need_input(named)))
      add({name, std::move(kind), *input_, {}, class_name}, named);
    config.finish();
  }

  void read_input(Fields& config, const Place& place) {
    for (const char* field : {"batch_input_shape", "batch_shape"}) {
      const std::optional<Shape> given = read_shape(config, field);
      if (!given) continue;
      const Shape& expected = network_.layers.empty() ? input_.value_or(*given) : network_.output();
      if (*given != expected)
        refuse(place, field,
               fmt::format("{} differs from {}, what comes before it", to_string(*given),
                           to_string(expected)));
      if (network_.layers.empty()) input_ = given;
    }
  }

  const Shape& need_input(const Place& place) {
    if (!input_)
      refuse(place, "batch_input_shape",
             "it is missing; begin the model with an InputLayer, so that all shapes are known");
    if (network_.layers.empty()) network_.input = *input_;
    return *input_;
  }

  // Cross-entropy and softmax are one operation, so softmax can only be last.
  void add(Layer layer, const Place& place) {
    const bool is_softmax_layer = layer.class_name == "Softmax";
    if (softmax_)
      refuse(*softmax_, softmax_field_,
             "\"softmax\" is supported only as the last function of the network");
    layer.output = output_shape(layer.kind, layer.input, place);
    input_ = layer.output;
    network_.layers.push_back(std::move(layer));
    if (natural_loss(network_) == Loss::mean_squared_error) return;
    softmax_field_ = is_softmax_layer ? "class_name" : "activation";
    if (!input_->vector)
      refuse(place, softmax_field_,
             "\"softmax\" is supported only on a vector; put Flatten before it");
    softmax_ = place;
  }

  Place place_;
  Network network_;
  std::optional<Shape> input_;  // of the next layer
  std::set<std::string> names_;
  std::optional<Place> softmax_;  // the layer that ends in it
  std::string_view softmax_field_;
};

}  // namespace

Network read_keras(std::string_view json_text, std::string_view source) {
  const json model = unwrap(parse(json_text, source), source);
  return SequentialReader(source, by_keras3(model)).read(model);
}

namespace {

const zoo::Entry* find_entry(std::string_view name) {
  for (const zoo::Entry& entry : zoo::entries())
    if (entry.name == name) return &entry;
  return nullptr;
}

// At most one byte more than the reader accepts, so that an endless device is rejected as too
// large.
std::string read_text(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code status;
  if (!fs::exists(path, status))
    throw core::InputError(
        fmt::format("there is no model '{}': give a Keras JSON file or one of {}",
                    core::printable(path), fmt::join(zoo_names(), ", ")));
  if (fs::is_directory(path, status))
    throw core::InputError(
        fmt::format("{} is a folder; give the Keras JSON file in it", core::printable(path)));
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(keras::max_json_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad())
    throw core::InputError(fmt::format("{} cannot be read ({}); give a readable Keras JSON file",
                                       core::printable(path), std::strerror(errno)));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

Network load_network(const std::string& name_or_path) {
  if (const zoo::Entry* entry = find_entry(name_or_path))
    return read_keras(entry->json, entry->name);
  return read_keras(read_text(name_or_path), name_or_path);
}

std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (const zoo::Entry& entry : zoo::entries()) names.emplace_back(entry.name);
  return names;
}

std::string_view zoo_json(std::string_view name) {
  if (const zoo::Entry* entry = find_entry(name)) return entry->json;
  throw core::InputError(fmt::format("there is no zoo model '{}': choose one of {}",
                                     core::printable(name), fmt::join(zoo_names(), ", ")));
}

}  // namespace sweetspot::model
