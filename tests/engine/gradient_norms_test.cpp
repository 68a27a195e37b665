#include "engine/gradient_norms.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/cpu/cpu.h"
#include "golden.h"
#include "model/keras.h"

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
    std::optional<convergence::GradientNorms> norms;  // of weights that stay
    for (int step = 0; !norms && step < 100; ++step)
      norms = again->step(batch.view(), micro_batch).gradient_norms;
    ASSERT_TRUE(norms);
    EXPECT_EQ(norms->small_batch, 6);
    EXPECT_EQ(norms->big_batch, 48);
    EXPECT_NEAR(norms->small_squared, squared_norm(6), 1e-4 * norms->small_squared);
    if (micro_batch == 48) {  // batch normalisation sees micro-batches
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

// None of the zoo's models has batch normalisation, which sees micro-batches.
TEST(Accumulation, GivesTheWeightsOfTheWholeBatchAfterManyUpdates) {
  for (const std::string& name : model::zoo_names()) {
    SCOPED_TRACE(name);
    const model::Network network = model::load_network(name);
    TrainerOptions options;
    options.loss = model::natural_loss(network);
    options.optimizer.kind = Optimizer::Kind::momentum;
    // Small: where two values of a pooling window nearly tie, rounding decides which one learns,
    // and the further weights move, the more such windows there are.
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
      // Of what the training moved it by.
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

// y = w* · x + noise with independent uniform inputs: the moments of the gradient of the squared
// error are sums over the inputs.
struct Regression {
  static constexpr int inputs = 48;
  static constexpr double noise_variance = 0.5;
  double variance[inputs], distance[inputs];  // of the inputs; of the weights from w*
  float deviation[inputs];
  std::mt19937 random;

  explicit Regression(unsigned seed) : random(seed) {
    for (int i = 0; i < inputs; ++i)
      variance[i] = 0.5 + 0.02 * i, deviation[i] = static_cast<float>(std::sqrt(variance[i]));
  }
  // Of this deviation: on [−√3σ, √3σ], in 2^16 steps, two of a draw.
  float uniform(float its_deviation) {
    if (bits_left == 0) drawn = static_cast<std::uint32_t>(random()), bits_left = 32;
    const float value = (static_cast<float>(drawn & 0xffff) + 0.5f) * 0x1p-15f - 1;
    drawn >>= 16, bits_left -= 16;
    return value * 1.7320508f * its_deviation;
  }
  std::uint32_t drawn = 0;
  int bits_left = 0;

  // The gradient of one sample is g = 2 (d·x − ε) x, so E[g] = 2Cd, and E|g|² needs x's fourth
  // moment, 9/5 of the squared variance for a uniform one.
  double noise_scale() const {
    double trace_c = 0, gradient = 0, second = 0;
    for (const double v : variance) trace_c += v;
    for (int i = 0; i < inputs; ++i) {
      const double d2 = distance[i] * distance[i], v = variance[i];
      gradient += 4 * d2 * v * v;
      second += 4 * d2 * (1.8 * v * v + v * (trace_c - v));
    }
    second += 4 * noise_variance * trace_c;
    return (second - gradient) / gradient;
  }
};

TEST(GradientNormsOf, LinearRegressionGiveItsNoiseScale) {
  const model::Network network = model::read_keras(
      R"({"class_name": "Sequential", "keras_version": "2.11.0", "config": {"name": "regression",
         "layers": [{"class_name": "InputLayer", "config": {"name": "x", "batch_input_shape": [null, 48]}},
         {"class_name": "Dense", "config": {"name": "y", "units": 1, "use_bias": false}}]}})",
      "regression.json");
  constexpr std::int64_t batch = 2048;
  const auto noise_deviation = static_cast<float>(std::sqrt(Regression::noise_variance));
  int held = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Regression problem(seed);
    TrainerOptions options;
    options.loss = model::Loss::mean_squared_error;
    options.gradient_norms = true;
    options.seed = seed;
    options.optimizer.learning_rate = 0;
    const auto trainer = cpu::make_trainer(network, options);
    const std::vector<float> weights = trainer->variables().front().values;
    float truth[Regression::inputs];
    for (int i = 0; i < Regression::inputs; ++i) {
      problem.distance[i] = problem.uniform(0.041f);
      truth[i] = static_cast<float>(weights[static_cast<std::size_t>(i)] - problem.distance[i]);
    }
    // Batches begin anywhere in a pool that is far larger than the noise scale.
    constexpr std::size_t pool = 1 << 16;
    std::vector<float> x(pool * Regression::inputs), y(pool);
    for (std::size_t s = 0; s < pool; ++s) {
      y[s] = problem.uniform(noise_deviation);
      for (std::size_t i = 0; i < Regression::inputs; ++i) {
        float& input = x[s * Regression::inputs + i];
        input = problem.uniform(problem.deviation[i]);
        y[s] += truth[i] * input;
      }
    }
    convergence::NoiseScale scale(1);
    for (int step = 0; step < 2000; ++step) {
      const std::size_t first = problem.random() % (pool - batch);
      const StepResult result = trainer->step(
          {batch, x.data() + first * Regression::inputs, nullptr, y.data() + first}, batch);
      if (result.gradient_norms) scale.add(*result.gradient_norms);
    }
    const auto estimate = scale.estimate();
    ASSERT_TRUE(estimate && estimate->samples);
    EXPECT_NEAR(estimate->samples->mean, problem.noise_scale(), 0.1 * problem.noise_scale())
        << "seed " << seed << ", interval " << estimate->samples->low << " to "
        << estimate->samples->high << " from " << estimate->observations;
    held += estimate->samples->low <= problem.noise_scale() &&
            problem.noise_scale() <= estimate->samples->high;
  }
  EXPECT_GE(held, 17);  // of 20, where 19 are expected
}

}  // namespace
}  // namespace sweetspot::engine
