#include "engine/gradient_norms.h"

#include <gtest/gtest.h>

#include "engine/cpu/cpu.h"
#include "engine/golden.h"
#include "engine/regression.h"
#include "gpu.h"

namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;

double read_norm(const Trainer& trainer) {
  double sum = 0;
  for (const Variable& gradient : trainer.gradients())
    for (const double value : gradient.values) sum += value * value;
  return sum;
}

struct NormCase {
  const char* model;
  Precision precision;
};
void PrintTo(const NormCase& made, std::ostream* out) {
  *out << made.model << " in " << cuda::name(made.precision);
}
class CudaGradientNorms : public ::testing::TestWithParam<NormCase> {
 protected:
  void SetUp() override { REQUIRE_GPU(); }
  const model::Network network = golden_network(GetParam().model);
  cuda::Options options() const {
    cuda::Options options;
    options.precision = GetParam().precision;
    options.trainer.optimizer.learning_rate = 0;
    options.trainer.gradient_norms = true;
    return options;
  }
};

TEST_P(CudaGradientNorms, AreThoseOfTheGradientsThatCanBeRead) {
  const auto trainer = cuda::make_trainer(network, options());
  const GoldenBatch batch(network, true, 48, 0);
  for (const std::int64_t micro_batch : {48, 16}) {
    trainer->accumulate(batch.view(), micro_batch);
    const double read = read_norm(*trainer);
    EXPECT_GT(read, 0);
    EXPECT_NEAR(trainer->squared_gradient_norm(), read, 1e-6 * read) << micro_batch;
  }
}

// At fixed weights, without dropout: some of the steps have the norm of the same gradient.
TEST_P(CudaGradientNorms, AreToldBySomeOfTheStepsThatAreQueued) {
  const auto trainer = cuda::make_trainer(network, options());
  const GoldenBatch batch(network, true, 48, 0);
  for (const std::int64_t micro_batch : {48, 16}) {
    trainer->accumulate(batch.view(), micro_batch);
    const double expected = trainer->squared_gradient_norm();
    for (int step = 0; step < 40; ++step) trainer->queue(batch.view(), micro_batch);
    int told = 0;
    for (const StepResult& result : trainer->finish()) {
      if (!result.gradient_squared) continue;
      ++told;
      EXPECT_NEAR(*result.gradient_squared, expected, 1e-6 * expected) << micro_batch;
    }
    EXPECT_EQ(told, 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CudaGradientNorms,
                         ::testing::Values(NormCase{"small-cnn", Precision::fp32},
                                           NormCase{"small-cnn", Precision::tf32},
                                           NormCase{"small-cnn", Precision::bf16},
                                           NormCase{"small-cnn", Precision::fp16},
                                           NormCase{"many-shapes", Precision::fp32},
                                           NormCase{"norm-blocks", Precision::fp32}),
                         [](const auto& c) { return "case" + std::to_string(c.index); });

// The same samples from the device and from the host, in micro-batches too, between queued steps.
TEST(CudaGradientNormsOf, ResidentSamplesAreThoseOfTheSameBatch) {
  REQUIRE_GPU();
  const model::Network network = model::load_network("paper-cnn");
  const GoldenBatch all(network, true, 300, 0);
  const std::span<const float> floats(all.view().inputs,
                                      static_cast<std::size_t>(300 * network.input.size()));
  const std::span<const std::int32_t> labels(all.view().labels, 300);
  const auto trainer = cuda::make_trainer(network, {});
  trainer->upload(cuda::Split::train, {300, {}, floats, labels, {}});
  std::vector<std::uint32_t> order(300);
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const std::span<const std::uint32_t> some(order.data() + 100, 96);
  const auto at = static_cast<std::size_t>(100 * network.input.size());
  const BatchView same{96, floats.data() + at, labels.data() + 100, nullptr};
  for (const std::int64_t micro_batch : {96, 32}) {
    trainer->start(order, 24, 24);
    const StepResult found = trainer->accumulate_resident(some, micro_batch);
    const double norm = trainer->squared_gradient_norm();
    EXPECT_EQ(trainer->finish().size(), 13u);
    const StepResult expected = trainer->accumulate(same, micro_batch);
    EXPECT_EQ(found.loss, expected.loss);
    EXPECT_NEAR(norm, trainer->squared_gradient_norm(), 1e-6 * norm);  // summed in any order
    EXPECT_GT(norm, 0);
  }
}

// Graphs of twenty steps, single ones, and an epoch's last, smaller batch, which has no norm.
TEST(CudaGradientNormsOf, ResidentStepsAreToldAndChangeNothing) {
  REQUIRE_GPU();
  const model::Network network = model::load_network("paper-cnn");
  const GoldenBatch all(network, true, 1010, 0);
  const std::span<const float> floats(all.view().inputs,
                                      static_cast<std::size_t>(1010 * network.input.size()));
  const std::span<const std::int32_t> labels(all.view().labels, 1010);
  std::vector<std::uint32_t> order(1010);
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  cuda::Options options;
  const auto plain = cuda::make_trainer(network, options);
  options.trainer.gradient_norms = true;
  const auto measuring = cuda::make_trainer(network, options);
  for (const auto& trainer : {plain.get(), measuring.get()})
    trainer->upload(cuda::Split::train, {1010, {}, floats, labels, {}});
  for (const std::int64_t micro_batch : {24, 8}) {
    plain->start(order, 24, micro_batch), measuring->start(order, 24, micro_batch);
    const std::vector<StepResult> expected = plain->finish(), found = measuring->finish();
    ASSERT_EQ(found.size(), 43u);
    int told = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].loss, expected[i].loss) << "step " << i;
      EXPECT_FALSE(expected[i].gradient_squared);
      told += found[i].gradient_squared.has_value();
    }
    EXPECT_GE(told, 4);
    EXPECT_LE(told, 5);
    EXPECT_FALSE(found.back().gradient_squared);
  }
}

TEST(CudaGradientNormsOf, TheSameBatchAreTheCpus) {
  REQUIRE_GPU();
  const model::Network network = golden_network("paper-cnn");
  const GoldenBatch batch(network, true, 256, 0);
  const auto gpu = cuda::make_trainer(network, {});
  const auto cpu = cpu::make_trainer(network, {});
  const convergence::GradientNorms found = gradient_norms(*gpu, network, batch.view(), 128),
                                   expected = gradient_norms(*cpu, network, batch.view(), 128);
  EXPECT_EQ(found.small_batch, expected.small_batch);
  EXPECT_NEAR(found.small_squared, expected.small_squared, 1e-3 * expected.small_squared);
  EXPECT_NEAR(found.big_squared, expected.big_squared, 1e-3 * expected.big_squared);
}

TEST(CudaGradientNormsOf, LinearRegressionGiveItsNoiseScale) {
  REQUIRE_GPU();
  int held = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    cuda::Options options;
    options.trainer.loss = model::Loss::mean_squared_error;
    options.trainer.seed = seed;
    const model::Network network = regression_network();
    const auto trainer = cuda::make_trainer(network, options);
    Regression problem(seed, trainer->variables().front().values);
    convergence::NoiseScale scale(1);
    constexpr int batch = 2048, batches_of_pool = Regression::pool / batch;
    for (int i = 0; i < 400; ++i) {
      if (i % batches_of_pool == 0) problem.draw();
      scale.add(gradient_norms(*trainer, network, problem.batch(batch), batch));
    }
    held += expect_noise_scale(scale, problem);
  }
  EXPECT_GE(held, 16);  // of 20, where 19 are expected; batches of a pool overlap
}

}  // namespace
}  // namespace sweetspot::engine
