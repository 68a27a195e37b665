#pragma once
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/trainer.h"
#include "model/keras.h"

namespace sweetspot::engine::testing {

// tests/golden/README.md has the formula and the files' format.
inline std::uint32_t golden_hash(std::uint32_t tensor, std::uint32_t i) {
  std::uint32_t h = i * 2654435761u + tensor * 40503u + 12345u;
  h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
  return h;
}
inline double golden_uniform(std::uint32_t tensor, std::uint32_t i) {
  return (golden_hash(tensor, i) >> 8) * 0x1p-24;
}

inline std::string golden_path(const std::string& name) {
  return std::string(SWEETSPOT_SOURCE_DIR) + "/tests/golden/" + name;
}
inline nlohmann::json golden_json(const std::string& name) {
  return nlohmann::json::parse(std::ifstream(golden_path(name)));
}

// A zoo model, or one of tests/golden/models, with its dropout off.
inline model::Network golden_network(const std::string& name) {
  const std::string file = golden_path("models/" + name + ".json");
  model::Network network = model::load_network(std::ifstream(file).good() ? file : name);
  for (model::Layer& layer : network.layers)
    if (auto* dropout = std::get_if<model::Dropout>(&layer.kind)) dropout->rate = 0;
  return network;
}

struct GoldenBatch {
  std::vector<float> inputs, targets;
  std::vector<std::int32_t> labels;
  std::int64_t count;

  GoldenBatch(const model::Network& network, bool labelled, std::int64_t samples,
              std::uint32_t inputs_tensor)
      : count(samples) {
    const std::int64_t outputs = network.output().size();
    for (std::int64_t i = 0; i < samples * network.input.size(); ++i)
      inputs.push_back(
          static_cast<float>(golden_uniform(inputs_tensor, static_cast<std::uint32_t>(i))));
    for (std::int64_t i = 0; labelled && i < samples; ++i)
      labels.push_back(static_cast<std::int32_t>((i * 7 + 3) % outputs));
    for (std::int64_t i = 0; !labelled && i < samples * outputs; ++i)
      targets.push_back(
          static_cast<float>(golden_uniform(1000, static_cast<std::uint32_t>(i)) - 0.5));
  }
  BatchView view() const {
    return {count, inputs.data(), labels.empty() ? nullptr : labels.data(),
            targets.empty() ? nullptr : targets.data()};
  }
};

inline void assign_golden_weights(Trainer& trainer, const nlohmann::json& parameters) {
  std::vector<Variable> variables = trainer.variables();
  for (Variable& variable : variables)
    for (const auto& golden : parameters)
      if (golden["name"] == variable.parameter.name)
        for (std::size_t i = 0; i < variable.values.size(); ++i)
          variable.values[i] = static_cast<float>(
              golden["offset"].get<double>() +
              (golden_uniform(golden["tensor"], static_cast<std::uint32_t>(i)) - 0.5) * 2 *
                  golden["scale"].get<double>());
  trainer.assign(variables);
}

}  // namespace sweetspot::engine::testing
