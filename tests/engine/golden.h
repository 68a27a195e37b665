#pragma once
#include <gtest/gtest.h>

#include <algorithm>
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
    if (auto* dropout = std::get_if<model::Dropout>(&layer.kind))
      dropout->rate = 0;
    else if (auto* noise = std::get_if<model::GaussianNoise>(&layer.kind))
      noise->stddev = 0;
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

// Ten steps of an optimizer by Keras' rules, with the trainer that make(network, optimizer)
// returns.
template <class Make>
void expect_steps_follow_keras(Optimizer::Kind kind, const Make& make) {
  const nlohmann::json golden = golden_json("optimizers.json");
  const auto expected = std::ranges::find_if(
      golden["optimizers"], [kind](const auto& o) { return o["kind"] == name(kind); });
  ASSERT_NE(expected, golden["optimizers"].end());
  const model::Network network = golden_network("tiny-mlp");
  Optimizer optimizer;
  optimizer.kind = kind;
  optimizer.learning_rate = expected->at("learning_rate");
  optimizer.momentum = expected->value("momentum", optimizer.momentum);
  optimizer.weight_decay = expected->value("weight_decay", optimizer.weight_decay);
  const GoldenBatch batch(network, true, golden["batch"], golden["inputs_tensor"]);
  for (const std::int64_t micro_batch :
       {batch.count, batch.count / 2}) {  // late and gathered gradients
    const auto trainer = make(network, optimizer);
    assign_golden_weights(*trainer, golden["parameters"]);
    for (const auto& loss : expected->at("losses"))
      EXPECT_NEAR(trainer->step(batch.view(), micro_batch).loss, loss.template get<double>(),
                  1e-5 * loss.template get<double>());
    const std::vector<Variable> variables = trainer->variables();
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const auto& values = expected->at("weights")[v]["value"];
      for (std::size_t i = 0; i < values["samples"].size(); ++i)
        EXPECT_NEAR(variables[v].values[i * values["stride"].template get<std::size_t>()],
                    values["samples"][i].template get<double>(), 1e-5);
    }
  }
}

}  // namespace sweetspot::engine::testing
