#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <tuple>

#include "engine/cpu/cpu.h"
#include "golden.h"

namespace sweetspot::engine {
namespace {

using namespace testing;
using nlohmann::json;

model::Network perceptron(int inputs, int units) {
  const auto dense = [](const char* name, int of, const char* activation) {
    return json{{"class_name", "Dense"},
                {"config", {{"name", name}, {"units", of}, {"activation", activation}}}};
  };
  const json keras{
      {"class_name", "Sequential"},
      {"config",
       {{"name", "perceptron"},
        {"layers",
         {{{"class_name", "InputLayer"},
           {"config", {{"name", "in"}, {"batch_input_shape", {nullptr, inputs}}}}},
          dense("first", 24, "tanh"), dense("back", inputs, "tanh"), dense("wide", units, "tanh"),
          dense("out", 7, "softmax")}}}},
      {"keras_version", "2.11.0"}};
  return model::read_keras(keras.dump(), "perceptron.json");
}

// Inputs and units of the layer under test, and the batch.
class WideLayers : public ::testing::TestWithParam<std::tuple<int, int, int>> {};

// A step computes and applies the gradients of a dense layer piece by piece. Beyond the small sizes
// of the random networks it packs the pieces, and panels are not always full.
TEST_P(WideLayers, StepByTheirGradient) {
  const auto [inputs, units, count] = GetParam();
  const model::Network network = perceptron(inputs, units);
  const GoldenBatch batch(network, true, count, 3);
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    TrainerOptions options;
    options.optimizer.kind = Optimizer::Kind::sgd, options.optimizer.learning_rate = 1;
    options.threads = threads;
    const auto trainer = cpu::make_trainer(network, options);
    const std::vector<Variable> before = trainer->variables();
    trainer->accumulate(batch.view(), count);
    const std::vector<Variable> gradients = trainer->gradients();
    trainer->step(batch.view(), count);
    const std::vector<Variable> after = trainer->variables();
    for (std::size_t v = 0; v < before.size(); ++v) {
      double wrong = 0, size = 0;
      for (std::size_t i = 0; i < before[v].values.size(); ++i) {
        const double moved = double{before[v].values[i]} - after[v].values[i];
        wrong += std::pow(moved - gradients[v].values[i], 2), size += moved * moved;
      }
      EXPECT_LE(wrong, 1e-6 * size) << before[v].parameter.name;
      EXPECT_GT(size, 0) << before[v].parameter.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WideLayers,
                         ::testing::Combine(::testing::Values(825, 1100, 2050),
                                            ::testing::Values(65, 333, 70),
                                            ::testing::Values(60, 130, 200)));

}  // namespace
}  // namespace sweetspot::engine
