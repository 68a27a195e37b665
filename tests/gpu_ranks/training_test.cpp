// Ranks on GPUs that share a batch train like one that has all of it. Under mpirun each rank runs
// the same tests, all of them on one GPU, and compares itself with a trainer of its own.
#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/golden.h"
#include "engine/rank_parts.h"
#include "engine_cuda/gpu.h"
#include "gpu_groups.h"
#include "host_ranks.h"

namespace sweetspot::engine {
namespace {

using namespace testing;
using cuda::Precision;
using tests::GpuKind;
using tests::host_ranks;

struct Trained {
  std::vector<float> weights;
  std::vector<double> losses;
  std::vector<std::int64_t> correct;
};

class GpuRanksTrain : public ::testing::TestWithParam<GpuKind> {
 protected:
  void SetUp() override {
    REQUIRE_GPU();
    group_ = GetParam().join();
  }
  int rank() const { return group_->rank(); }
  int ranks() const { return group_->size(); }

  // Adam divides by the size of a gradient, also of those that are rounding noise.
  static cuda::Options options(const model::Network& network, const std::string& name,
                               Precision precision = Precision::fp32) {
    cuda::Options options;
    options.precision = precision;
    options.trainer.loss = model::natural_loss(network);
    options.trainer.optimizer.kind =
        name == "paper-cnn" ? Optimizer::Kind::adam : Optimizer::Kind::momentum;
    options.trainer.optimizer.learning_rate = name == "paper-cnn" ? 0.001 : 0.01;
    return options;
  }
  cuda::Options as_rank(cuda::Options options, core::Bytes bucket_bytes) const {
    options.trainer.ranks.group = &host_ranks();
    options.trainer.ranks.on_gpus = group_.get();
    options.trainer.ranks.bucket_bytes = bucket_bytes;
    return options;
  }
  // The same weights on all ranks, bit for bit.
  void expect_same_on_all(const Trained& trained) const {
    std::vector<float> of_first = trained.weights;
    host_ranks().broadcast(of_first, 0);
    EXPECT_EQ(trained.weights, of_first) << "on rank " << rank();
    double loss[] = {trained.losses.back()};
    host_ranks().sum(loss);
    EXPECT_DOUBLE_EQ(loss[0], trained.losses.back() * ranks());
  }

  std::unique_ptr<collective::GpuGroup> group_;
};

model::Network network_named(const std::string& name) {
  const std::string file = golden_path("models/" + name + ".json");
  return model::load_network(std::ifstream(file).good() ? file : name);
}
bool is_labelled(const model::Network& network) {
  return model::natural_loss(network) != model::Loss::mean_squared_error;
}

void add(Trained& trained, const StepResult& result) {
  trained.losses.push_back(result.loss), trained.correct.push_back(result.correct);
}

TEST_P(GpuRanksTrain, AsOneDoesWithTheSameBatch) {
  constexpr int updates = 20;
  for (const std::string name :
       {"paper-cnn", "noisy", "mobile", "decoder", "penalties", "sequence", "conv-regression"}) {
    const model::Network network = network_named(name);
    const GoldenBatch batch(network, is_labelled(network), 16, 0);
    // As many samples at once as a rank has, because batch normalisation sees no more.
    const std::int64_t micro_batch = 16 / ranks();
    const auto alone = cuda::make_trainer(network, options(network, name));
    const std::vector<float> initial = trainable(*alone);
    Trained one;
    for (int i = 0; i < updates; ++i) add(one, alone->step(batch.view(), micro_batch));
    one.weights = trainable(*alone);
    const double moved = distance_between(one.weights, initial);
    ASSERT_GT(moved, 0);
    // Buckets of one operation each, of several, and one for all.
    for (const core::Bytes bucket : {core::Bytes{1}, core::Bytes{20'000}, 64 * core::MiB}) {
      const auto trainer = cuda::make_trainer(network, as_rank(options(network, name), bucket));
      Trained trained;
      for (int i = 0; i < updates; ++i)
        add(trained, trainer->step(part_of(batch, network, rank(), ranks()), micro_batch));
      trained.weights = trainable(*trainer);
      expect_same_on_all(trained);
      EXPECT_LT(distance_between(trained.weights, one.weights), 1e-3 * moved)
          << name << ' ' << bucket;
      for (int i = 0; i < updates; ++i) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_NEAR(trained.losses[at], one.losses[at], 1e-3 * (1 + std::abs(one.losses[at])))
            << name << " step " << i;
      }
    }
  }
}

// Step by step, queued, and from samples on the GPU, in graphs: the same bits. With accumulation,
// and a last batch that some ranks have no sample of.
TEST_P(GpuRanksTrain, TheSameInGraphsAsStepByStep) {
  const model::Network network = model::load_network("paper-cnn");
  constexpr std::int64_t samples = 16 * 45 + 3, batch_size = 16;
  const GoldenBatch all(network, true, samples, 0);
  const std::int64_t size = network.input.size();
  const auto at = [&](std::int64_t first) {
    BatchView view = all.view();
    view.count = std::min(batch_size, samples - first);
    view.inputs += first * size, view.labels += first;
    return part_of(view, network, rank(), ranks());
  };
  for (const Precision precision : {Precision::fp32, Precision::bf16})
    for (const std::int64_t accumulation : {1, 2}) {
      const std::int64_t micro_batch =
          std::max<std::int64_t>(batch_size / ranks() / accumulation, 1);
      const cuda::Options options =
          as_rank(this->options(network, "paper-cnn", precision), 100'000);
      std::vector<Trained> ways(3);
      const auto stepped = cuda::make_trainer(network, options),
                 queued = cuda::make_trainer(network, options),
                 resident = cuda::make_trainer(network, options);
      for (std::int64_t first = 0; first < samples; first += batch_size)
        add(ways[0], stepped->step(at(first), micro_batch));
      for (std::int64_t first = 0; first < samples; first += batch_size)
        queued->queue(at(first), micro_batch);
      for (const StepResult& result : queued->finish()) add(ways[1], result);
      std::vector<std::uint32_t> order(static_cast<std::size_t>(samples));
      std::iota(order.begin(), order.end(), 0u);
      resident->upload(cuda::Split::train,
                       {samples,
                        {},
                        {all.view().inputs, static_cast<std::size_t>(samples * size)},
                        {all.view().labels, static_cast<std::size_t>(samples)},
                        {}});
      resident->start(order, batch_size, micro_batch);
      for (const StepResult& result : resident->finish()) add(ways[2], result);
      ways[0].weights = trainable(*stepped), ways[1].weights = trainable(*queued);
      ways[2].weights = trainable(*resident);
      expect_same_on_all(ways[0]);
      for (const std::size_t way : {1u, 2u}) {
        EXPECT_EQ(ways[way].losses, ways[0].losses) << way;
        EXPECT_EQ(ways[way].correct, ways[0].correct) << way;
        EXPECT_EQ(ways[way].weights, ways[0].weights) << way;
      }
    }
}

// The gradients of the last rank alone overflow: all skip the update and halve the scale.
TEST_P(GpuRanksTrain, AllSkipAnUpdateThatOneCannotMake) {
  const model::Network network = golden_network("small-cnn");
  const GoldenBatch batch(network, true, 16, 0);
  GoldenBatch huge = batch;
  const auto part = static_cast<std::size_t>(16 / ranks() * network.input.size());
  std::fill(huge.inputs.end() - static_cast<std::ptrdiff_t>(part), huge.inputs.end(),
            std::numeric_limits<float>::infinity());
  const auto trainer =
      cuda::make_trainer(network, as_rank(options(network, "small-cnn", Precision::fp16), 20'000));
  const auto step = [&](const GoldenBatch& made) {
    return trainer->step(part_of(made, network, rank(), ranks()), 16 / ranks());
  };
  step(batch);
  const std::vector<float> before = trainable(*trainer);
  const double scale = trainer->loss_scale();
  const std::int64_t skipped = trainer->skipped_updates();
  step(huge);
  EXPECT_EQ(trainable(*trainer), before);
  EXPECT_EQ(trainer->loss_scale(), scale / 2);
  EXPECT_EQ(trainer->skipped_updates(), skipped + 1);
  step(batch);
  EXPECT_NE(trainable(*trainer), before);
  EXPECT_EQ(trainer->skipped_updates(), skipped + 1);
  Trained trained{trainable(*trainer), {step(batch).loss}, {}};
  trained.weights = trainable(*trainer);
  expect_same_on_all(trained);
}

TEST_P(GpuRanksTrain, AndHearOfOneThatIsToStop) {
  const model::Network network = model::load_network("small-cnn");
  const GoldenBatch batch(network, true, 8, 0);
  std::atomic<int> stop{0};
  cuda::Options asked = as_rank(options(network, "small-cnn"), core::MiB);
  asked.trainer.ranks.stop = rank() + 1 == ranks() ? &stop : nullptr;
  const auto trainer = cuda::make_trainer(network, asked);
  for (int step = 1; step <= 6; ++step) {
    if (step == 5) stop = 15;
    const BatchView part = part_of(batch, network, rank(), ranks());
    if (step % 2 == 0) {
      trainer->queue(part, 8 / ranks());
      EXPECT_EQ(trainer->finish().back().stops, step >= 5) << step;
    } else {
      EXPECT_EQ(trainer->step(part, 8 / ranks()).stops, step >= 5) << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GpuRanksTrain, ::testing::ValuesIn(tests::gpu_kinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace sweetspot::engine
