// Gradients of the network as in evaluation, and resuming from a checkpoint.
#include <gtest/gtest.h>

#include "core/random.h"
#include "engine/cpu/cpu.h"
#include "golden.h"

namespace sweetspot::engine {
namespace {

using namespace testing;

// Dropout, noise and both kinds of batch normalisation.
model::Network noisy_network() {
  return model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "noisy", "layers": [
    {"class_name": "InputLayer", "config": {"batch_input_shape": [null, 9, 8, 2], "name": "input"}},
    {"class_name": "Conv2D", "config": {"name": "first", "filters": 5, "kernel_size": [2, 3]}},
    {"class_name": "BatchNormalization", "config": {"name": "norm"}},
    {"class_name": "Activation", "config": {"name": "tanh", "activation": "tanh"}},
    {"class_name": "GaussianNoise", "config": {"name": "noise", "stddev": 0.5}},
    {"class_name": "Conv2D", "config": {"name": "second", "filters": 4, "kernel_size": [2, 2], "activation": "tanh"}},
    {"class_name": "SpatialDropout2D", "config": {"name": "channels", "rate": 0.4}},
    {"class_name": "Flatten", "config": {"name": "flatten"}},
    {"class_name": "Dense", "config": {"name": "hidden", "units": 12, "activation": "tanh",
      "kernel_regularizer": {"class_name": "L2", "config": {"l2": 0.01}}}},
    {"class_name": "BatchNormalization", "config": {"name": "vector_norm"}},
    {"class_name": "Dropout", "config": {"name": "dropout", "rate": 0.5}},
    {"class_name": "Dense", "config": {"name": "last", "units": 3, "activation": "softmax"}}]}, "keras_version": "2.11.0"})",
      "noisy.json");
}

std::vector<float> values(const std::vector<Variable>& variables) {
  std::vector<float> all;
  for (const Variable& variable : variables)
    all.insert(all.end(), variable.values.begin(), variable.values.end());
  return all;
}

TEST(EvaluationGradients, AreTheSlopesOfTheEvaluatedLoss) {
  const model::Network network = noisy_network();
  const TrainerOptions options;
  const auto trainer = cpu::make_trainer(network, options);
  const GoldenBatch batch(network, true, 300, 0);                // more than one pass of 256
  for (int i = 0; i < 3; ++i) trainer->step(batch.view(), 300);  // moving averages move
  const std::vector<Variable> start = trainer->variables();
  const double loss = trainer->evaluate(batch.view()).loss;
  EXPECT_NEAR(trainer->evaluate_gradients(batch.view()).loss, loss, 1e-5);
  EXPECT_EQ(values(trainer->variables()), values(start)) << "nothing has moved";
  const std::vector<Variable> gradients = trainer->gradients();
  for (std::size_t v = 0, g = 0; v < start.size(); ++v) {
    if (!start[v].parameter.trainable) continue;
    SCOPED_TRACE(start[v].parameter.name);
    const core::Random random(5, core::Purpose::synthetic, 0, static_cast<std::uint32_t>(v));
    std::vector<float> direction;
    double slope = 0;
    for (std::size_t i = 0; i < start[v].values.size(); ++i) {
      direction.push_back(random.uniform(i) < 0.5f ? -1.f : 1.f);
      slope += static_cast<double>(direction[i]) * gradients[g].values[i];
    }
    const float distance = 4e-3f / std::sqrt(static_cast<float>(direction.size()));
    const auto loss_at = [&](float sign) {
      std::vector<Variable> moved = start;
      for (std::size_t i = 0; i < direction.size(); ++i)
        moved[v].values[i] += sign * distance * direction[i];
      trainer->assign(moved);
      return trainer->evaluate(batch.view()).loss;
    };
    EXPECT_NEAR((loss_at(1) - loss_at(-1)) / (2 * distance), slope, 0.02 * std::abs(slope) + 1e-3);
    ++g;
  }
}

TEST(Checkpoint, GoesOnBitForBitAsOftenAsWanted) {
  const model::Network network = noisy_network();
  for (const auto kind : {Optimizer::Kind::sgd, Optimizer::Kind::momentum, Optimizer::Kind::adam}) {
    TrainerOptions options;
    options.optimizer.kind = kind;
    const auto trainer = cpu::make_trainer(network, options);
    const GoldenBatch batch(network, true, 24, 0);
    for (int i = 0; i < 3; ++i) trainer->step(batch.view(), 24);
    const Checkpoint checkpoint = trainer->checkpoint();
    const auto branch = [&] {
      for (int i = 0; i < 4; ++i) trainer->step(batch.view(), 8);
      return values(trainer->variables());
    };
    const std::vector<float> first = branch();
    EXPECT_EQ(trainer->steps_done(), 7u);
    trainer->restore(checkpoint);
    EXPECT_EQ(trainer->steps_done(), 3u);
    EXPECT_EQ(branch(), first) << name(kind);
  }
}

TEST(PlannedMemory, IsThatOfSeveralPlansAtOnceToTheByte) {
  for (const char* name : {"paper-cnn", "mlp", "small-cnn"}) {
    const model::Network network = model::load_network(name);
    TrainerOptions options;
    options.loss = model::natural_loss(network);
    options.threads = 3;
    const core::MemoryByUse before = core::live_buffers();
    const std::int64_t micro_batches[] = {4, 32, 100};
    const core::MemoryByUse predicted = cpu::planned_memory(
        network, options,
        {.micro_batches = micro_batches, .evaluation = true, .evaluation_gradients = true});
    const auto trainer = cpu::make_trainer(network, options);
    for (const std::int64_t micro_batch : micro_batches) trainer->prepare(micro_batch);
    trainer->evaluate({});
    trainer->evaluate_gradients({});
    core::MemoryByUse held = core::live_buffers();
    for (std::size_t i = 0; i < core::use_count; ++i) held.bytes[i] -= before.bytes[i];
    EXPECT_EQ(held, predicted) << name;
  }
}

}  // namespace
}  // namespace sweetspot::engine
