#include "engine/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "gpu.h"

namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;

// Relative to the largest gradient of the variable: fp32 like the CPU engine, the others according
// to the rounding of their operands (10, 7 and 10 bits of mantissa, partly averaged out).
double tolerance(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return 1e-4;
    case Precision::tf32:
    case Precision::fp16:
      return 1e-2;
    case Precision::bf16:
      return 6e-2;
  }
  return 0;
}

struct Case {
  std::string model;
  Precision precision;
};

class CudaGolden : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    golden = golden_json(GetParam().model + ".json");
    network = golden_network(GetParam().model);
    const bool labelled = golden["loss_kind"] != "mean_squared_error";
    options.trainer.loss =
        labelled ? model::Loss::sparse_categorical_crossentropy : model::Loss::mean_squared_error;
    options.precision = GetParam().precision;
    batch.emplace(network, labelled, golden["batch"].get<std::int64_t>(),
                  golden["inputs_tensor"].get<std::uint32_t>());
  }

  void expect_golden_gradients(std::int64_t micro_batch) {
    SCOPED_TRACE("micro-batch " + std::to_string(micro_batch));
    const auto trainer = cuda::make_trainer(network, options);
    assign_golden_weights(*trainer, golden["parameters"]);
    const StepResult result = trainer->accumulate(batch->view(), micro_batch);
    // Layer by layer, rounded operands flip more winners and ReLUs, and each moves a whole
    // gradient. The networks cause it, not the engine: with the same operands rounded and all else
    // in float64, PyTorch deviates from the same golden values as this engine does, to two digits
    // (tests/golden/rounded.py: 0.08, 0.21 and 0.08 in tf32, bf16 and fp16 on many-shapes, 0.02,
    // 0.24 and 0.02 on norm-fusions, 0.07, 0.09 and 0.07 on mobile while the first convolution was
    // rounded too). Without discontinuities there is no such deviation
    // (CudaShapes.HaveTheCpusGradientsWithoutEdges).
    const double wider = on_an_edge()                              ? 1.5
                         : !deep()                                 ? 1
                         : GetParam().precision == Precision::bf16 ? 1.25
                                                                   : 2.5;
    const double near = tolerance(GetParam().precision) * wider;
    EXPECT_NEAR(result.loss, golden["loss"].get<double>(), near * golden["loss"].get<double>());
    if (!golden["correct"].is_null() && GetParam().precision == Precision::fp32) {
      EXPECT_EQ(result.correct, golden["correct"].get<std::int64_t>());
    }
    const std::vector<Variable> gradients = trainer->gradients();
    ASSERT_EQ(gradients.size(), golden["parameters"].size());
    for (std::size_t p = 0; p < gradients.size(); ++p)
      expect_golden(gradients[p], golden["parameters"][p], near);
  }

  bool deep() const {
    return GetParam().precision != Precision::fp32 &&
           (GetParam().model == "many-shapes" || GetParam().model == "norm-fusions" ||
            GetParam().model == "mobile" || on_an_edge());
  }
  // One ReLU of resident-mix: rounded.py gives the same norms to four digits (conv2d_6/bias 0.0610
  // for 0.0720) and the same deviation, 0.315 at conv2d_6/kernel.
  bool on_an_edge() const {
    return GetParam().model == "resident-mix" && GetParam().precision == Precision::bf16;
  }

  // A rounded operand may flip a winner or a ReLU, so single elements say little: the others must
  // match in the norm of the difference.
  void expect_golden(const Variable& variable, const nlohmann::json& parameter, double near) {
    SCOPED_TRACE(variable.parameter.name);
    ASSERT_EQ(variable.parameter.name, parameter["name"].get<std::string>());
    const nlohmann::json& expected = parameter["gradient"];
    const double largest = expected["max_abs"], stride = expected["stride"];
    double square = 0, wrong = 0, right = 0;
    for (const float v : variable.values) square += static_cast<double>(v) * v;
    EXPECT_NEAR(std::sqrt(square), expected["l2"].get<double>(),
                (deep() ? 4 : 1) * near * expected["l2"].get<double>() + 1e-12);
    for (std::size_t k = 0; k < expected["samples"].size(); ++k) {
      const double value = variable.values[k * static_cast<std::size_t>(stride)],
                   wanted = expected["samples"][k];
      wrong += (value - wanted) * (value - wanted), right += wanted * wanted;
      if (GetParam().precision == Precision::fp32) {
        ASSERT_NEAR(value, wanted, near * largest + 1e-12)
            << "element " << k * static_cast<std::size_t>(stride);
      }
    }
    EXPECT_LE(std::sqrt(wrong), near * 4 * std::sqrt(right) + 1e-12);
    worst = std::max(worst, std::sqrt(wrong) / (std::sqrt(right) + 1e-12));
    RecordProperty("deviation", std::to_string(worst));
  }

  double worst = 0;
  nlohmann::json golden;
  model::Network network;
  cuda::Options options;
  std::optional<GoldenBatch> batch;
};

TEST_P(CudaGolden, LossAndEveryGradient) { expect_golden_gradients(batch->count); }

TEST_P(CudaGolden, AccumulationEqualsTheWholeBatch) {
  for (const model::Layer& layer : network.layers)
    if (std::holds_alternative<model::BatchNormalization>(layer.kind))
      return;  // has each micro-batch's own statistics
  expect_golden_gradients(5);
  expect_golden_gradients(1);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* model : {"paper-cnn",
                            "small-cnn",
                            "rgb64-cnn",
                            "rgb128-cnn",
                            "rgb128-cnn-slim",
                            "linear",
                            "mlp",
                            "all-layers",
                            "avg-same",
                            "conv-regression",
                            "dense-only",
                            "decoder",
                            "functions",
                            "many-shapes",
                            "mobile",
                            "noisy",
                            "norm-fusions",
                            "odd-channels",
                            "overlap-pool",
                            "penalties",
                            "resident-mix",
                            "sequence",
                            "strided-phases",
                            "strided-same",
                            "tiny-mlp",
                            "norm-blocks",
                            "minimal-filtering",
                            "small-images",
                            "few-channels"})
    all.push_back({model, Precision::fp32});
  for (const Precision precision : {Precision::tf32, Precision::bf16, Precision::fp16})
    for (const char* model : {"paper-cnn", "rgb128-cnn-slim", "dense-only", "many-shapes",
                              "norm-fusions", "resident-mix", "strided-phases", "mobile"})
      all.push_back({model, precision});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Models, CudaGolden, ::testing::ValuesIn(cases()), [](const auto& p) {
  std::string name = p.param.model + "_" + std::string(cuda::name(p.param.precision));
  std::ranges::replace(name, '-', '_');
  return name;
});

class CudaOptimizerSteps : public ::testing::TestWithParam<Optimizer::Kind> {};

TEST_P(CudaOptimizerSteps, FollowKeras) {
  REQUIRE_GPU();
  expect_steps_follow_keras(GetParam(),
                            [](const model::Network& network, const Optimizer& optimizer) {
                              cuda::Options options;
                              options.trainer.optimizer = optimizer;
                              return cuda::make_trainer(network, options);
                            });
}

INSTANTIATE_TEST_SUITE_P(Kinds, CudaOptimizerSteps,
                         ::testing::Values(Optimizer::Kind::sgd, Optimizer::Kind::momentum,
                                           Optimizer::Kind::nesterov, Optimizer::Kind::adam,
                                           Optimizer::Kind::adamw),
                         [](const auto& kind) { return std::string(name(kind.param)); });

}  // namespace
}  // namespace sweetspot::engine
