#include "golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "engine/cpu/cpu.h"

namespace sweetspot::engine {
namespace {

using namespace testing;
constexpr double tolerance = 1e-4;  // of fp32, relative to the largest gradient of the variable

class Golden : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    golden = golden_json(std::string(GetParam()) + ".json");
    network = golden_network(GetParam());
    const bool labelled = golden["loss_kind"] != "mean_squared_error";
    options.loss =
        labelled ? model::Loss::sparse_categorical_crossentropy : model::Loss::mean_squared_error;
    batch.emplace(network, labelled, golden["batch"].get<std::int64_t>(),
                  golden["inputs_tensor"].get<std::uint32_t>());
  }

  void expect_golden_gradients(std::int64_t micro_batch, int threads) {
    options.threads = threads;
    const auto trainer = cpu::make_trainer(network, options);
    assign_golden_weights(*trainer, golden["parameters"]);
    const StepResult result = trainer->accumulate(batch->view(), micro_batch);
    EXPECT_NEAR(result.loss, golden["loss"].get<double>(),
                tolerance * golden["loss"].get<double>());
    if (!golden["correct"].is_null()) {
      EXPECT_EQ(result.correct, golden["correct"].get<std::int64_t>());
    }
    const std::vector<Variable> gradients = trainer->gradients();
    ASSERT_EQ(gradients.size(), golden["parameters"].size());
    for (std::size_t p = 0; p < gradients.size(); ++p)
      expect_golden(gradients[p], golden["parameters"][p]);
  }

  static void expect_golden(const Variable& variable, const nlohmann::json& parameter) {
    SCOPED_TRACE(variable.parameter.name);
    ASSERT_EQ(variable.parameter.name, parameter["name"].get<std::string>());
    const nlohmann::json& expected = parameter["gradient"];
    const double largest = expected["max_abs"], stride = expected["stride"];
    double square = 0, signed_sum = 0;
    for (std::size_t i = 0; i < variable.values.size(); ++i) {
      square += static_cast<double>(variable.values[i]) * variable.values[i];
      signed_sum +=
          (golden_hash(77, static_cast<std::uint32_t>(i)) & 1 ? -1.0 : 1.0) * variable.values[i];
    }
    EXPECT_NEAR(std::sqrt(square), expected["l2"].get<double>(),
                tolerance * expected["l2"].get<double>() + 1e-12);
    EXPECT_NEAR(signed_sum, expected["signed_sum"].get<double>(),
                tolerance * expected["l2"].get<double>() * 3 + 1e-12);
    for (std::size_t k = 0; k < expected["samples"].size(); ++k)
      ASSERT_NEAR(variable.values[k * static_cast<std::size_t>(stride)],
                  expected["samples"][k].get<double>(), tolerance * largest + 1e-12)
          << "element " << k * static_cast<std::size_t>(stride);
  }

  nlohmann::json golden;
  model::Network network;
  TrainerOptions options;
  std::optional<GoldenBatch> batch;
};

TEST_P(Golden, LossAndEveryGradient) { expect_golden_gradients(batch->count, 1); }

TEST_P(Golden, LossAndEveryGradientWithThreeThreads) { expect_golden_gradients(batch->count, 3); }

TEST_P(Golden, AccumulationEqualsTheWholeBatch) {
  for (const model::Layer& layer : network.layers)
    if (std::holds_alternative<model::BatchNormalization>(layer.kind))
      return;  // has each micro-batch's own statistics
  expect_golden_gradients(5, 2);
  expect_golden_gradients(1, 2);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Golden,
    ::testing::Values("paper-cnn", "small-cnn", "rgb64-cnn", "rgb128-cnn", "rgb128-cnn-slim",
                      "linear", "mlp", "all-layers", "avg-same", "conv-regression", "dense-only",
                      "decoder", "few-channels", "few-positions", "flat-filters", "functions",
                      "kernel-parts", "many-shapes", "minimal-filtering", "mobile", "noisy",
                      "norm-blocks", "norm-fusions", "odd-channels", "overlap-pool", "penalties",
                      "resident-mix", "sequence", "small-images", "strided-phases", "strided-same",
                      "tiny-mlp", "to-few-channels", "transposed"),
    [](const auto& model) {
      std::string name = model.param;
      std::ranges::replace(name, '-', '_');
      return name;
    });

class OptimizerSteps : public ::testing::TestWithParam<Optimizer::Kind> {};

TEST_P(OptimizerSteps, FollowKeras) {
  expect_steps_follow_keras(GetParam(),
                            [](const model::Network& network, const Optimizer& optimizer) {
                              TrainerOptions options;
                              options.optimizer = optimizer;
                              return cpu::make_trainer(network, options);
                            });
}

INSTANTIATE_TEST_SUITE_P(Kinds, OptimizerSteps,
                         ::testing::Values(Optimizer::Kind::sgd, Optimizer::Kind::momentum,
                                           Optimizer::Kind::nesterov, Optimizer::Kind::adam,
                                           Optimizer::Kind::adamw),
                         [](const auto& kind) { return std::string(name(kind.param)); });

}  // namespace
}  // namespace sweetspot::engine
