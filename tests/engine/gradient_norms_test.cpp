#include "engine/gradient_norms.h"

#include <gtest/gtest.h>

#include "engine/cpu/cpu.h"
#include "golden.h"
#include "regression.h"

namespace sweetspot::engine {
namespace {

using namespace testing;

model::Network network_named(const std::string& name) {
  return model::load_network(name.ends_with(".json") ? golden_path(name) : name);
}

void expect_same(const Trainer& found, const Trainer& expected) {
  const std::vector<Variable> a = found.variables(), b = expected.variables();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(a[i].values, b[i].values) << a[i].parameter.name;
}

class GradientNorms : public ::testing::TestWithParam<std::string> {
 protected:
  model::Network network = network_named(GetParam());
};

// Running statistics of batch normalisation are among the variables.
TEST_P(GradientNorms, AreMeasuredWithoutChangingABit) {
  for (const int threads : {1, 2}) {
    TrainerOptions options;
    options.threads = threads;
    const auto plain = cpu::make_trainer(network, options);
    options.gradient_norms = true;
    const auto measuring = cpu::make_trainer(network, options);
    const GoldenBatch batch(network, true, 100, 0);
    int measured = 0;
    for (int step = 0; step < 30; ++step)
      for (const std::int64_t micro_batch : {100, 36}) {
        const StepResult expected = plain->step(batch.view(), micro_batch);
        const StepResult result = measuring->step(batch.view(), micro_batch);
        ASSERT_EQ(result.loss, expected.loss) << "step " << step;
        EXPECT_FALSE(expected.gradient_norms);
        measured += result.gradient_norms.has_value();
      }
    EXPECT_GE(measured, 1);
    expect_same(*measuring, *plain);
  }
}

TEST_P(GradientNorms, AreThoseOfTheGradientsThatCanBeRead) {
  TrainerOptions options;
  options.gradient_norms = true;
  options.threads = 2;
  options.optimizer.learning_rate = 0;
  const model::Network still = golden_network(
      GetParam().ends_with(".json") ? GetParam().substr(7, GetParam().size() - 12) : GetParam());
  const auto trainer = cpu::make_trainer(still, options);
  const GoldenBatch batch(still, true, 48, 0);
  const auto squared_norm = [&](std::int64_t count) {
    BatchView front = batch.view();
    front.count = count;
    trainer->accumulate(front, 48);
    double sum = 0;
    for (const Variable& gradient : trainer->gradients())
      for (const double value : gradient.values) sum += value * value;
    return sum;
  };
  for (const std::int64_t micro_batch : {48, 16}) {
    const auto again = cpu::make_trainer(still, options);
    std::optional<convergence::GradientNorms> norms;  // at fixed weights
    for (int step = 0; !norms && step < 100; ++step)
      norms = again->step(batch.view(), micro_batch).gradient_norms;
    ASSERT_TRUE(norms);
    EXPECT_EQ(norms->small_batch, 6);
    EXPECT_EQ(norms->big_batch, 48);
    EXPECT_NEAR(norms->small_squared, squared_norm(6), 1e-4 * norms->small_squared);
    if (micro_batch == 48) {  // batch normalisation depends on the micro-batch
      EXPECT_NEAR(norms->big_squared, squared_norm(48), 1e-4 * norms->big_squared);
    }
  }
}

TEST_P(GradientNorms, OfAnyTrainerLeaveItAsItWas) {
  const auto plain = cpu::make_trainer(network, {}), asked = cpu::make_trainer(network, {});
  const GoldenBatch batch(network, true, 32, 0);
  for (int step = 0; step < 3; ++step) {
    const convergence::GradientNorms norms = gradient_norms(*asked, network, batch.view(), 16);
    EXPECT_EQ(norms.small_batch, 4);
    EXPECT_EQ(norms.big_batch, 32);
    EXPECT_GT(norms.small_squared, 0);
    EXPECT_EQ(asked->step(batch.view(), 32).loss, plain->step(batch.view(), 32).loss);
  }
  expect_same(*asked, *plain);
}

INSTANTIATE_TEST_SUITE_P(Models, GradientNorms,
                         ::testing::Values("small-cnn", "models/all-layers.json",
                                           "models/norm-blocks.json"),
                         [](const auto& model) { return "model" + std::to_string(model.index); });

// No zoo model has batch normalisation, which depends on the micro-batch.
TEST(Accumulation, GivesTheWeightsOfTheWholeBatchAfterManyUpdates) {
  for (const std::string& name : model::zoo_names()) {
    SCOPED_TRACE(name);
    const model::Network network = model::load_network(name);
    TrainerOptions options;
    options.loss = model::natural_loss(network);
    options.optimizer.kind = Optimizer::Kind::momentum;
    // Small: if two values of a pooling window nearly tie, rounding decides which one gets the
    // gradient, and the further weights move, the more such windows there are.
    options.optimizer.learning_rate = 1e-4;
    const bool labelled = options.loss != model::Loss::mean_squared_error;
    const auto whole = cpu::make_trainer(network, options);
    const auto parts = cpu::make_trainer(network, options);
    options.gradient_norms = true;
    const auto measured = cpu::make_trainer(network, options);
    const std::vector<Variable> before = whole->variables();
    constexpr std::int64_t samples = 4, micro_batch = 2;
    for (std::uint32_t step = 0; step < 50; ++step) {
      const GoldenBatch batch(network, labelled, samples, step);
      whole->step(batch.view(), samples);
      parts->step(batch.view(), micro_batch);
      measured->step(batch.view(), micro_batch);
    }
    expect_same(*measured, *parts);
    const std::vector<Variable> a = parts->variables(), b = whole->variables();
    for (std::size_t i = 0; i < a.size(); ++i) {
      // Relative to the change by training.
      double apart = 0, moved = 0;
      for (std::size_t j = 0; j < a[i].values.size(); ++j) {
        const double error = a[i].values[j] - b[i].values[j],
                     way = b[i].values[j] - before[i].values[j];
        apart += error * error, moved += way * way;
      }
      EXPECT_GT(moved, 0) << a[i].parameter.name;
      EXPECT_LT(std::sqrt(apart), 1e-2 * std::sqrt(moved)) << a[i].parameter.name;
    }
  }
}

TEST(NormWindow, AveragesTheBigNormAroundTheSmallOne) {
  NormWindow window;
  const std::int64_t length = steps_between_norms(64, 8);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t step = 0; step < length; ++step) {
      const auto wanted = window.wants(64, 32);
      ASSERT_TRUE(wanted);
      EXPECT_EQ(*wanted, step == length / 2 ? 8 : 0);
      const auto norms =
          window.add(*wanted > 0 ? std::optional(50.) : std::nullopt, static_cast<double>(step));
      EXPECT_EQ(norms.has_value(), step + 1 == length);
      if (!norms) continue;
      EXPECT_EQ(norms->small_squared, 50);
      EXPECT_NEAR(norms->big_squared, static_cast<double>(length - 1) / 2, 1e-9);
    }
}

TEST(NormWindow, LeavesOutTheLastBatchOfAnEpochAndFollowsAChange) {
  NormWindow window;
  const auto is_used = [&](std::int64_t batch) {
    const auto wanted = window.wants(batch, batch);
    if (wanted) window.add(*wanted > 0 ? std::optional(1.) : std::nullopt, 1);
    return wanted.has_value();
  };
  EXPECT_TRUE(is_used(64));
  EXPECT_FALSE(is_used(17));
  EXPECT_TRUE(is_used(64));
  EXPECT_FALSE(is_used(256));  // it may be the last of an epoch
  EXPECT_TRUE(is_used(256));
  EXPECT_FALSE(is_used(1));
  EXPECT_TRUE(is_used(256));
}

TEST(GradientNormsOf, ASingleSampleAreNotTold) {
  TrainerOptions options;
  options.gradient_norms = true;
  const model::Network network = model::load_network("small-cnn");
  const auto trainer = cpu::make_trainer(network, options);
  const GoldenBatch batch(network, true, 1, 0);
  EXPECT_FALSE(trainer->step(batch.view(), 1).gradient_norms);
}

TEST(GradientNormsOf, RareStepsTakeLittleTime) {
  for (const std::int64_t batch : {2, 16, 128, 1000, 100000})
    for (const std::int64_t micro_batch : {batch, std::max<std::int64_t>(1, batch / 16)}) {
      const std::int64_t small = small_part(batch, micro_batch);
      EXPECT_GE(small, 1);
      EXPECT_LT(small, batch);
      EXPECT_LE(small, micro_batch);
      const double steps = static_cast<double>(steps_between_norms(batch, small));
      EXPECT_LT(static_cast<double>(small) / static_cast<double>(batch) / steps, 0.02) << batch;
    }
}

TEST(GradientNormsOf, LinearRegressionGiveItsNoiseScale) {
  int held = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    TrainerOptions options;
    options.loss = model::Loss::mean_squared_error;
    options.gradient_norms = true;
    options.seed = seed;
    options.optimizer.learning_rate = 0;
    const auto trainer = cpu::make_trainer(regression_network(), options);
    Regression problem(seed, trainer->variables().front().values);
    convergence::NoiseScale scale(1);
    for (int step = 0; step < 2000; ++step) {
      const StepResult result = trainer->step(problem.batch(2048), 2048);
      if (result.gradient_norms) scale.add(*result.gradient_norms);
    }
    held += expect_noise_scale(scale, problem);
  }
  EXPECT_GE(held, 17);  // of 20, where 19 are expected
}

}  // namespace
}  // namespace sweetspot::engine
