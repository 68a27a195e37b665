// Ranks that share a batch train like one that has all of it. They are threads here, over the group
// with a fixed summation order; MPI must satisfy the same contract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "collective/threads/threads.h"
#include "engine/cpu/cpu.h"
#include "rank_parts.h"

namespace sweetspot::engine {
namespace {

using namespace testing;

struct Trained {
  std::vector<float> weights;
  std::vector<double> losses;
  std::vector<std::int64_t> correct;
};

class RanksTrain : public ::testing::TestWithParam<std::string> {
 protected:
  // With its dropout and noise: their random numbers depend on the sample's position in the whole
  // batch.
  const model::Network network =
      model::load_network(std::ifstream(golden_path("models/" + GetParam() + ".json")).good()
                              ? golden_path("models/" + GetParam() + ".json")
                              : GetParam());
  const bool labelled = model::natural_loss(network) != model::Loss::mean_squared_error;

  // Adam divides by the size of a gradient. Gradients that should be zero, as of a bias before
  // batch normalisation, are rounding noise, which it scales up to the size of any other.
  bool adaptive() const { return GetParam() == "paper-cnn"; }
  double tolerance() const { return adaptive() ? 1e-3 : 1e-5; }

  // If a ReLU after batch normalisation is nearly 0, rounding decides, and training diverges.
  int updates() const { return GetParam() == "norm-blocks" ? 3 : 20; }
  // With the first batch that happens to `mobile` after 12 updates; with each of the next four not.
  int batch_number() const { return GetParam() == "mobile" ? 1 : 0; }

  TrainerOptions options() const {
    TrainerOptions options;
    options.loss = model::natural_loss(network);
    options.optimizer.kind = adaptive() ? Optimizer::Kind::adam : Optimizer::Kind::momentum;
    options.optimizer.learning_rate = adaptive() ? 0.001 : 0.01;
    return options;
  }

  Trained train(Trainer& trainer, const GoldenBatch& batch, int rank, int ranks,
                std::int64_t micro_batch) const {
    Trained trained;
    for (int i = 0; i < updates(); ++i) {
      const StepResult result = trainer.step(part_of(batch, network, rank, ranks), micro_batch);
      trained.losses.push_back(result.loss);
      trained.correct.push_back(result.correct);
    }
    trained.weights = trainable(trainer);
    return trained;
  }

  std::vector<Trained> train_ranks(const GoldenBatch& batch, int ranks, std::int64_t micro_batch,
                                   core::Bytes bucket_bytes, int threads = 1) const {
    auto groups = collective::thread_groups(ranks);
    std::vector<Trained> trained(static_cast<std::size_t>(ranks));
    std::vector<std::thread> members;
    for (int rank = 0; rank < ranks; ++rank)
      members.emplace_back([&, rank] {
        const auto i = static_cast<std::size_t>(rank);
        TrainerOptions o = options();
        o.ranks.group = groups[i].get();
        o.ranks.bucket_bytes = bucket_bytes;
        o.threads = threads;
        const auto trainer = cpu::make_trainer(network, o);
        trained[i] = train(*trainer, batch, rank, ranks, micro_batch);
      });
    for (std::thread& member : members) member.join();
    return trained;
  }
};

TEST_P(RanksTrain, AsOneDoesWithTheSameBatch) {
  for (const int ranks : {2, 4}) {
    const GoldenBatch batch(network, labelled, 16, batch_number());
    const auto alone = cpu::make_trainer(network, options());
    const std::vector<float> initial = trainable(*alone);
    // As many samples at once as a rank has, because batch normalisation sees no more.
    const Trained one = train(*alone, batch, 0, 1, 16 / ranks);
    const double moved = distance_between(one.weights, initial);
    ASSERT_GT(moved, 0);
    // Buckets that split layers, that span layers, and one for all.
    for (const core::Bytes bucket : {core::Bytes{20'000}, 64 * core::MiB}) {
      const auto trained = train_ranks(batch, ranks, 16 / ranks, bucket, ranks == 2 ? 2 : 1);
      for (const Trained& rank : trained) {
        EXPECT_EQ(rank.weights, trained.front().weights) << "the ranks' weights are not the same";
        EXPECT_EQ(rank.losses, trained.front().losses);
        EXPECT_EQ(rank.correct, trained.front().correct);
      }
      EXPECT_LT(distance_between(trained.front().weights, one.weights), tolerance() * moved)
          << ranks << " ranks, buckets of " << bucket;
      for (int i = 0; i < updates(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        EXPECT_NEAR(trained.front().losses[at], one.losses[at],
                    1e-3 * (1 + std::abs(one.losses[at])));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RanksTrain,
                         ::testing::Values("paper-cnn", "noisy", "mobile", "decoder", "penalties",
                                           "norm-blocks", "sequence", "conv-regression"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

class UnevenRanks : public RanksTrain {};

// 3 samples for 4 ranks: one has none, and still sums and updates with the others.
TEST_P(UnevenRanks, TrainAsOneDoes) {
  for (const std::int64_t samples : {3, 10}) {
    const GoldenBatch batch(network, labelled, samples, 0);
    const auto alone = cpu::make_trainer(network, options());
    const std::vector<float> initial = trainable(*alone);
    const Trained one = train(*alone, batch, 0, 1, samples);
    const auto trained = train_ranks(batch, 4, 2, 50'000);
    for (const Trained& rank : trained) {
      EXPECT_EQ(rank.weights, trained.front().weights);
      EXPECT_EQ(rank.losses, trained.front().losses);
    }
    EXPECT_LT(distance_between(trained.front().weights, one.weights),
              tolerance() * distance_between(one.weights, initial));
  }
}
INSTANTIATE_TEST_SUITE_P(Models, UnevenRanks, ::testing::Values("mlp", "small-cnn"),
                         [](const auto& test) { return test.param == "mlp" ? "mlp" : "cnn"; });

TEST(Ranks, HearOfOneThatIsToStopInTheSameStep) {
  const model::Network network = model::load_network("small-cnn");
  const GoldenBatch batch(network, true, 8, 0);
  auto groups = collective::thread_groups(2);
  std::atomic<int> stop{0};
  std::vector<int> stopped_at(2);
  std::vector<std::thread> members;
  for (int rank = 0; rank < 2; ++rank)
    members.emplace_back([&, rank] {
      TrainerOptions options;
      options.ranks.group = groups[static_cast<std::size_t>(rank)].get();
      options.ranks.stop = rank == 1 ? &stop : nullptr;
      const auto trainer = cpu::make_trainer(network, options);
      for (int step = 1; step < 1000; ++step) {
        if (rank == 1 && step == 5) stop = 15;
        if (!trainer->step(part_of(batch, network, rank, 2), 4).stops) continue;
        stopped_at[static_cast<std::size_t>(rank)] = step;
        return;
      }
    });
  for (std::thread& member : members) member.join();
  EXPECT_THAT(stopped_at, ::testing::ElementsAre(5, 5));
}

// Each rank takes the small norm over its own samples; the big one is of all.
TEST(Ranks, MeasureTheGradientsNoiseTogether) {
  const model::Network network = golden_network("small-cnn");
  constexpr std::int64_t samples = 64, small = 8;
  constexpr int ranks = 2;
  const GoldenBatch batch(network, true, samples, 0);
  TrainerOptions options;
  options.optimizer.learning_rate = 0;
  const auto alone = cpu::make_trainer(network, options);
  double small_squared = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    BatchView front = part_of(batch, network, rank, ranks);
    front.count = small, front.first = 0, front.whole.reset();
    alone->accumulate(front, samples);
    small_squared += alone->squared_gradient_norm() / ranks;
  }
  alone->accumulate(batch.view(), samples);
  const double big_squared = alone->squared_gradient_norm();
  options.gradient_norms = true;
  auto groups = collective::thread_groups(ranks);
  std::vector<std::thread> members;
  for (int rank = 0; rank < ranks; ++rank)
    members.emplace_back([&, rank] {
      TrainerOptions own = options;
      own.ranks.group = groups[static_cast<std::size_t>(rank)].get();
      const auto trainer = cpu::make_trainer(network, own);
      std::optional<convergence::GradientNorms> norms;
      for (int step = 0; step < 500 && !norms; ++step)
        norms = trainer->step(part_of(batch, network, rank, ranks), samples / ranks).gradient_norms;
      ASSERT_TRUE(norms);
      EXPECT_EQ(norms->small_batch, small);
      EXPECT_EQ(norms->big_batch, samples);
      EXPECT_NEAR(norms->small_squared, small_squared, 1e-4 * small_squared) << rank;
      EXPECT_NEAR(norms->big_squared, big_squared, 1e-4 * big_squared) << rank;
    });
  for (std::thread& member : members) member.join();
}

TEST(Ranks, AverageTheirRunningStatistics) {
  const model::Network network = model::load_network(golden_path("models/norm-blocks.json"));
  const bool labelled = model::natural_loss(network) != model::Loss::mean_squared_error;
  const GoldenBatch batch(network, labelled, 8, 0);
  auto groups = collective::thread_groups(2);
  std::vector<std::vector<Variable>> before(2), after(2);
  std::vector<std::thread> members;
  for (int rank = 0; rank < 2; ++rank)
    members.emplace_back([&, rank] {
      const auto i = static_cast<std::size_t>(rank);
      TrainerOptions options;
      options.loss = model::natural_loss(network);
      options.ranks.group = groups[i].get();
      const auto trainer = cpu::make_trainer(network, options);
      trainer->step(part_of(batch, network, rank, 2), 4);
      before[i] = trainer->variables();
      trainer->average_statistics(*groups[i]);
      after[i] = trainer->variables();
    });
  for (std::thread& member : members) member.join();
  bool differed = false;
  for (std::size_t v = 0; v < before[0].size(); ++v)
    for (std::size_t i = 0; i < before[0][v].values.size(); ++i) {
      const float a = before[0][v].values[i], b = before[1][v].values[i];
      differed |= a != b;
      EXPECT_FLOAT_EQ(after[0][v].values[i], (a + b) / 2);
      EXPECT_EQ(after[0][v].values[i], after[1][v].values[i]);
    }
  EXPECT_TRUE(differed) << "each rank normalised by samples of its own";
}

}  // namespace
}  // namespace sweetspot::engine
