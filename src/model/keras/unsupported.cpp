#include "model/keras/unsupported.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/edit_distance.h"
#include "core/text.h"
#include "model/keras/json.h"
#include "model/keras/layers.h"

namespace sweetspot::model::keras {
namespace {

using nlohmann::json;

// The topic of an unsupported layer, by a part of its name.
struct Family {
  std::string_view part, nearest;
};
constexpr Family families[] = {
    {"LSTM", "Conv1D and GlobalAveragePooling1D"},
    {"GRU", "Conv1D and GlobalAveragePooling1D"},
    {"RNN", "Conv1D and GlobalAveragePooling1D"},
    {"Bidirectional", "Conv1D and GlobalAveragePooling1D"},
    {"TimeDistributed", "Dense, which multiplies the last axis of any input, and Conv1D"},
    {"Embedding", "Dense and Conv1D, on samples that are numbers already"},
    {"Attention", "Conv1D, Dense and LayerNormalization"},
    {"3D", "Conv2D, MaxPooling2D and the other layers of images"},
    {"ActivityRegularization", "kernel_regularizer and bias_regularizer of Dense and Conv2D"},
    {"Dropout", "Dropout, SpatialDropout2D and GaussianNoise"},
    {"Noise", "GaussianNoise and Dropout"},
    {"Random", "--augment of train and tune"},
    {"Normalization", "BatchNormalization, LayerNormalization and Rescaling"},
    {"Functional", "the layers of a model themselves, one after the other"},
    {"Sequential", "the layers of a model themselves, one after the other"},
    {"Model", "the layers of a model themselves, one after the other"},
    {"Concatenate", "a chain of layers, each with one input"},
    {"Add", "a chain of layers, each with one input"},
    {"Subtract", "a chain of layers, each with one input"},
    {"Multiply", "a chain of layers, each with one input"},
    {"Maximum", "a chain of layers, each with one input"},
    {"Minimum", "a chain of layers, each with one input"},
    {"Average", "a chain of layers, each with one input"},
    {"Dot", "a chain of layers, each with one input"},
    {"Lambda", "Rescaling, Activation and Reshape"},
    {"TFOpLambda", "Rescaling, Activation and Reshape"},
};

std::string nearest(std::string_view class_name) {
  for (const Family& family : families)
    if (class_name.find(family.part) != std::string_view::npos) return std::string(family.nearest);
  std::vector<std::string_view> names = known_layers();
  std::erase(names, "InputLayer");
  const std::string_view asked = class_name.substr(0, 100);
  std::ranges::stable_sort(names, {},
                           [&](std::string_view name) { return core::edit_distance(asked, name); });
  names.resize(3);
  return fmt::format("{}, {} and {}", names[0], names[1], names[2]);
}

}  // namespace

std::string_view other_way() {
  return "any training program can be tuned as it is: sweetspot tune -- python train.py "
         "--batch-size {batch}";
}

void refuse_unknown_layers(const json& layers, const Place& place) {
  const std::vector<std::string_view> known = known_layers();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const json& layer = layers[i];
    if (!layer.is_object() || !layer.contains("class_name") || !layer["class_name"].is_string())
      continue;  // the reader says what is wrong with it
    const auto name = layer["class_name"].get<std::string>();
    if (std::ranges::find(known, name) != known.end()) continue;
    Place at = place;
    at.layer = fmt::format("#{}", i + 1);
    if (layer.contains("config") && layer["config"].is_object() &&
        layer["config"].contains("name") && layer["config"]["name"].is_string())
      at.layer = fmt::format("'{}'", layer["config"]["name"].get<std::string>());
    refuse(at, "class_name",
           fmt::format("{} is not among the layers that sweetspot trains itself; nearest are {}; "
                       "{}",
                       shown(json(name)), nearest(name), other_way()));
  }
}

}  // namespace sweetspot::model::keras
