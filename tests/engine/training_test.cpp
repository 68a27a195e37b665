#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/random.h"
#include "engine/cpu/cpu.h"
#include "golden.h"

namespace sweetspot::engine {
namespace {

using namespace testing;

std::vector<double> loss_curve(const model::Network& network, int threads,
                               std::span<const std::int64_t> micro_batches,
                               std::int64_t samples = 50) {
  TrainerOptions options;
  options.threads = threads;
  const auto trainer = cpu::make_trainer(network, options);
  const GoldenBatch batch(network, true, samples, 0);
  std::vector<double> losses;
  for (int step = 0; step < 12; ++step)
    losses.push_back(
        trainer
            ->step(batch.view(),
                   micro_batches[static_cast<std::size_t>(step) % micro_batches.size()])
            .loss);
  return losses;
}

class Training : public ::testing::TestWithParam<std::string> {
 protected:
  model::Network network =
      model::load_network(GetParam().ends_with(".json") ? golden_path(GetParam()) : GetParam());
};

TEST_P(Training, IsTheSameBitForBitWhateverTheThreads) {
  const std::int64_t whole[] = {50};
  const std::vector<double> expected = loss_curve(network, 1, whole);
  for (const int threads : {2, 3, 5, 8})
    EXPECT_EQ(loss_curve(network, threads, whole), expected) << threads << " threads";
}

TEST_P(Training, StaysAsItIsAtALearningRateOfZero) {
  using enum Optimizer::Kind;
  for (const Optimizer::Kind kind : {sgd, momentum, nesterov, adam, adamw}) {
    TrainerOptions options;
    options.optimizer.kind = kind;
    const auto trainer = cpu::make_trainer(network, options);
    trainer->set_learning_rate(0);
    const std::vector<Variable> before = trainer->variables();
    const GoldenBatch batch(network, true, 10, 0);
    for (int step = 0; step < 3; ++step) trainer->step(batch.view(), 10);
    const std::vector<Variable> after = trainer->variables();
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (!before[i].parameter.trainable) continue;  // running statistics change
      EXPECT_EQ(after[i].values, before[i].values) << name(kind) << before[i].parameter.name;
    }
  }
}

TEST_P(Training, LearnsABatchByHeart) {
  TrainerOptions options;
  options.optimizer.learning_rate = 0.003;
  const auto trainer = cpu::make_trainer(network, options);
  const GoldenBatch batch(network, true, 10, 0);
  const double first = trainer->step(batch.view(), 10).loss;
  for (int step = 0; step < 80; ++step) trainer->step(batch.view(), 10);
  EXPECT_LT(trainer->step(batch.view(), 10).loss, first * 0.8);
}

INSTANTIATE_TEST_SUITE_P(Models, Training,
                         ::testing::Values("paper-cnn", "small-cnn", "models/all-layers.json",
                                           "models/strided-same.json"),
                         [](const auto& model) { return "model" + std::to_string(model.index); });

// Their weights are divided by columns or by rows, sums by rows have 2 to 8 parts, and where many
// of a few rows are zero, which rows depends on the threads, zeros are skipped.
TEST(DenseLayers, AreTheSameBitForBitWhateverTheThreads) {
  const model::Network network = model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "dense", "layers": [
          {"class_name": "Dense", "config": {"name": "a", "units": 300, "activation": "relu",
                                             "batch_input_shape": [null, 30]}},
          {"class_name": "Dropout", "config": {"name": "some", "rate": 0.2}},
          {"class_name": "Dense", "config": {"name": "b", "units": 200, "activation": "relu"}},
          {"class_name": "Dropout", "config": {"name": "half", "rate": 0.5}},
          {"class_name": "Dense", "config": {"name": "c", "units": 70, "activation": "tanh",
                                             "use_bias": false}},
          {"class_name": "Dense", "config": {"name": "d", "units": 3, "activation": "softmax"}}]}})",
      "dense.json");
  for (const std::int64_t batch : {1, 8, 20, 36, 70, 130, 200}) {
    const std::int64_t whole[] = {batch};
    const std::vector<double> expected = loss_curve(network, 1, whole, batch);
    for (const int threads : {2, 3, 4, 8, 16})
      EXPECT_EQ(loss_curve(network, threads, whole, batch), expected)
          << threads << " threads, batch " << batch;
  }
}

// Weights beyond a cache are divided, transposed and skipped in other ways.
TEST(DenseLayers, OfLargeWeightsAreTheSameBitForBitWhateverTheThreads) {
  const model::Network network = model::read_keras(
      R"({"class_name": "Sequential", "config": {"name": "large", "layers": [
          {"class_name": "Dense", "config": {"name": "a", "units": 650, "activation": "relu",
                                             "batch_input_shape": [null, 30]}},
          {"class_name": "Dropout", "config": {"name": "half", "rate": 0.5}},
          {"class_name": "Dense", "config": {"name": "b", "units": 450, "activation": "relu"}},
          {"class_name": "Dense", "config": {"name": "c", "units": 3, "activation": "softmax"}}]}})",
      "large.json");
  for (const std::int64_t batch : {16, 64, 400}) {
    const std::int64_t whole[] = {batch};
    const std::vector<double> expected = loss_curve(network, 1, whole, batch);
    for (const int threads : {2, 3})
      EXPECT_EQ(loss_curve(network, threads, whole, batch), expected)
          << threads << " threads, batch " << batch;
  }
}

// The gradient of a weight behind it is zero where its input was dropped: in Keras' order, whatever
// the layout, of channels that fill no unit and of positions that nothing reads.
TEST(DropoutOfImages, DropsWhatTheGeneratorSays) {
  for (const int channels : {6, 19, 32}) {
    const model::Network network = model::read_keras(
        fmt::format(R"({{"class_name": "Sequential", "config": {{"name": "image", "layers": [
          {{"class_name": "InputLayer", "config": {{"name": "in", "batch_shape": [null, 5, 7, {}]}}}},
          {{"class_name": "Dropout", "config": {{"name": "drop", "rate": 0.4}}}},
          {{"class_name": "Cropping2D", "config": {{"name": "crop", "cropping": [[0, 1], [0, 2]]}}}},
          {{"class_name": "Flatten", "config": {{"name": "flat"}}}},
          {{"class_name": "Dense", "config": {{"name": "out", "units": 1}}}}]}}}})",
                    channels),
        "image.json");
    TrainerOptions options;
    options.loss = model::Loss::mean_squared_error;
    const auto trainer = cpu::make_trainer(network, options);
    const std::vector<float> ones(static_cast<std::size_t>(5 * 7 * channels), 1.f), target{3.f};
    trainer->accumulate({.count = 1, .inputs = ones.data(), .targets = target.data()}, 1);
    const std::vector<float> found = trainer->gradients().front().values;
    const core::Random random(options.seed, core::Purpose::dropout, 0, 0);
    std::size_t at = 0;
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 5; ++x)
        for (int c = 0; c < channels; ++c, ++at) {
          const auto e = static_cast<std::uint64_t>((y * 7 + x) * channels + c);
          const std::uint32_t word = random.words(e / 64 * 16 + e % 16)[e / 16 % 4];
          EXPECT_EQ(found[at] != 0, word >= static_cast<std::uint32_t>(0.4 * 0x1p32))
              << channels << " channels: " << y << ", " << x << ", " << c;
        }
    EXPECT_EQ(at, found.size());
  }
}

TEST(Plans, CanBeSwitchedInMidTraining) {
  const model::Network network = model::load_network("paper-cnn");  // with its dropout on
  const std::int64_t whole[] = {50}, switching[] = {50, 16, 7, 1};
  const std::vector<double> expected = loss_curve(network, 2, whole),
                            switched = loss_curve(network, 2, switching);
  for (std::size_t step = 0; step < expected.size(); ++step)
    EXPECT_NEAR(switched[step], expected[step], 1e-4 * expected[0]);
}

// An update leaves the transposed weights and zeroed partial gradients for the next step, unless
// something else comes in between.
TEST(Preparation, IsRepeatedWhenTheUpdateHasNotDoneIt) {
  for (const char* name : {"small-cnn", "paper-cnn"})
    for (const int threads : {1, 3}) {
      const model::Network network = model::load_network(name);
      const GoldenBatch whole(network, true, 50, 0), small(network, true, 10, 0);
      TrainerOptions several;
      several.threads = threads;
      const auto trainer = cpu::make_trainer(network, several);
      const auto expect_as_fresh = [&](const char* what, std::int64_t micro_batch,
                                       const GoldenBatch& batch) {
        const auto fresh = cpu::make_trainer(network, {});
        fresh->restore(trainer->checkpoint());
        fresh->step(batch.view(), micro_batch);
        trainer->step(batch.view(), micro_batch);
        EXPECT_EQ(trainer->checkpoint().weights, fresh->checkpoint().weights)
            << name << " on " << threads << " threads, " << what;
      };
      expect_as_fresh("first", 50, whole);
      expect_as_fresh("next", 50, whole);
      expect_as_fresh("another executor", 25, whole);
      expect_as_fresh("the first one again", 50, whole);
      expect_as_fresh("fewer samples", 50, small);
      expect_as_fresh("all samples again", 50, whole);
      trainer->accumulate(whole.view(), 50);
      expect_as_fresh("gradients of the same executor in between", 50, whole);
      std::vector<Variable> half = trainer->variables();
      for (Variable& variable : half)
        for (float& value : variable.values) value /= 2;
      trainer->assign(half);
      expect_as_fresh("assigned", 50, whole);
      for (float& weight : trainer->trainable_weights()) weight *= 1.5f;
      expect_as_fresh("written by others", 50, whole);
    }
}

TEST(Seed, DecidesWeightsAndDropout) {
  const model::Network network = model::load_network("paper-cnn");
  const GoldenBatch batch(network, true, 10, 0);
  const auto first_loss = [&](std::uint64_t seed) {
    TrainerOptions options;
    options.seed = seed;
    return cpu::make_trainer(network, options)->step(batch.view(), 10).loss;
  };
  EXPECT_EQ(first_loss(1), first_loss(1));
  EXPECT_NE(first_loss(1), first_loss(2));
}

TEST(Dropout, ChangesFromStepToStepAndIsOffInEvaluation) {
  const model::Network network = model::load_network("paper-cnn");
  TrainerOptions options;
  options.optimizer.kind = Optimizer::Kind::sgd;
  options.optimizer.learning_rate = 0;  // fixed weights, so only the masks differ
  const auto trainer = cpu::make_trainer(network, options);
  const GoldenBatch batch(network, true, 10, 0);
  EXPECT_NE(trainer->step(batch.view(), 10).loss, trainer->step(batch.view(), 10).loss);
  EXPECT_EQ(trainer->evaluate(batch.view()).loss, trainer->evaluate(batch.view()).loss);
}

TEST(Evaluation, MatchesTrainingWithoutDropout) {
  const model::Network network = golden_network("paper-cnn");
  const auto trainer = cpu::make_trainer(network, {});
  const GoldenBatch batch(network, true, 300, 0);  // more than one pass of the evaluation plan
  const StepResult evaluated = trainer->evaluate(batch.view()),
                   trained = trainer->accumulate(batch.view(), 300);
  EXPECT_NEAR(evaluated.loss, trained.loss, 1e-6 * trained.loss);
  EXPECT_EQ(evaluated.correct, trained.correct);
}

TEST(BatchNormalization, KeepsRunningStatisticsOfTheBatch) {
  const nlohmann::json golden = golden_json("all-layers.json");
  const model::Network network = golden_network("all-layers");
  const auto trainer = cpu::make_trainer(network, {});
  assign_golden_weights(*trainer, golden["parameters"]);
  const GoldenBatch batch(network, true, golden["batch"], golden["inputs_tensor"]);
  trainer->accumulate(batch.view(), batch.count);
  std::size_t norm = 0;
  double momentum = 0;
  for (const Variable& variable : trainer->variables()) {
    if (variable.parameter.trainable) continue;
    const bool is_mean = variable.parameter.name.ends_with("moving_mean");
    const auto& statistics = golden["batch_statistics"][norm];
    momentum =
        std::get<model::BatchNormalization>(network.layers[variable.parameter.layer].kind).momentum;
    for (std::size_t c = 0; c < variable.values.size(); ++c) {
      const double batch_value = statistics[is_mean ? "mean" : "variance"][c],
                   initial = is_mean ? 0 : 1;
      EXPECT_NEAR(variable.values[c], initial * momentum + batch_value * (1 - momentum), 1e-5)
          << variable.parameter.name;
    }
    if (!is_mean) ++norm;
  }
  EXPECT_EQ(norm, golden["batch_statistics"].size());
}

TEST(Targets, OneHotEqualsLabels) {
  const model::Network network = model::load_network("small-cnn");
  const GoldenBatch batch(network, true, 10, 0);
  std::vector<float> one_hot(100, 0.f);
  for (std::size_t i = 0; i < 10; ++i)
    one_hot[i * 10 + static_cast<std::size_t>(batch.labels[i])] = 1;
  TrainerOptions options;
  const StepResult sparse = cpu::make_trainer(network, options)->step(batch.view(), 10);
  options.loss = model::Loss::categorical_crossentropy;
  const StepResult full = cpu::make_trainer(network, options)
                              ->step({10, batch.inputs.data(), nullptr, one_hot.data()}, 10);
  EXPECT_DOUBLE_EQ(sparse.loss, full.loss);
  EXPECT_EQ(sparse.correct, full.correct);
}

TEST(Variables, SurviveUnpackingAndPacking) {
  const model::Network network = model::load_network("rgb128-cnn-slim");
  const auto one = cpu::make_trainer(network, {});
  TrainerOptions other_seed;
  other_seed.seed = 7;
  const auto two = cpu::make_trainer(network, other_seed);
  two->assign(one->variables());
  const std::vector<Variable> a = one->variables(), b = two->variables();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_EQ(a[i].values, b[i].values) << a[i].parameter.name;
}

TEST(Variables, OfAnotherModelAreRefused) {
  const auto trainer = cpu::make_trainer(model::load_network("linear"), {});
  const auto other = cpu::make_trainer(model::load_network("paper-cnn"), {});
  EXPECT_THROW(trainer->assign(other->variables()), core::InputError);
}

// A diverged run must not look like one that learns nothing.
TEST(NotANumber, PassesThroughReluAndPooling) {
  for (const char* name : {"paper-cnn", "small-cnn", "models/strided-same.json"}) {
    const model::Network network = model::load_network(
        std::string(name).ends_with(".json") ? golden_path(name) : std::string(name));
    const GoldenBatch batch(network, true, 4, 0);
    for (const Variable& variable : cpu::make_trainer(network, {})->variables()) {
      if (variable.parameter.shape.size() < 2) continue;
      SCOPED_TRACE(variable.parameter.name);
      const auto trainer = cpu::make_trainer(network, {});
      Variable astray = variable;
      std::ranges::fill(astray.values, std::numeric_limits<float>::quiet_NaN());
      trainer->assign({&astray, 1});
      EXPECT_TRUE(std::isnan(trainer->evaluate(batch.view()).loss));
      EXPECT_TRUE(std::isnan(trainer->accumulate(batch.view(), 4).loss));
    }
  }
}

std::string network_of(const std::string& shape, const std::string& layers) {
  return R"({"class_name": "Sequential", "keras_version": "2.11.0", "config": {"name": "large", "layers": [
    {"class_name": "InputLayer", "config": {"name": "input", "batch_input_shape": [null, )" +
         shape + "]}}, " + layers + R"(, {"class_name": "Flatten", "config": {"name": "flatten"}},
    {"class_name": "Dense", "config": {"name": "last", "units": 2, "activation": "softmax"}}]}})";
}

TEST(Sizes, BeyondWhatOffsetsReachAreRefusedBeforeAnythingIsLaidOut) {
  for (
      const std::string& text :
      {network_of("40000, 40000, 1",
                  R"({"class_name": "MaxPooling2D", "config": {"name": "p", "pool_size": 100}})"),
       network_of(
           "12000, 12000, 1",
           R"({"class_name": "Conv2D", "config": {"name": "c", "filters": 1, "kernel_size": 3}})"),
       network_of(
           "28, 28, 1",
           R"({"class_name": "Conv2D", "config": {"name": "c", "filters": 1, "kernel_size": 30000, "padding": "same"}})")})
    EXPECT_THROW(cpu::plan(model::read_keras(text, "large.json"), {}, 1, false), core::InputError);
}

TEST(Sizes, ABatchBeyondAllMemoryIsRefusedWithoutOverflow) {
  const model::Network network = model::load_network("rgb128-cnn");
  EXPECT_NO_THROW(cpu::plan(network, {}, std::int64_t{1} << 30, false));
  EXPECT_THROW(cpu::plan(network, {}, std::int64_t{1} << 50, false), core::InputError);
}

TEST(Loss, CrossEntropyNeedsSoftmax) {
  TrainerOptions options;
  options.loss = model::Loss::sparse_categorical_crossentropy;
  EXPECT_THROW(cpu::plan(model::load_network("linear"), options, 8, false), core::InputError);
}

}  // namespace
}  // namespace sweetspot::engine
