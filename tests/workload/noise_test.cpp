#include "workload/native/noise.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <tuple>

#include "workload/native/epochs.h"

namespace sweetspot::workload::native {
namespace {

const std::atomic<int> go_on{0};

Run run_of(const char* model, const char* data, std::int64_t batch) {
  Options options;
  options.model = model;
  options.data = data;
  options.pipeline.batch = batch;
  options.evaluate = false;
  return open(options, [](std::string_view) {});
}
Run small_run(std::int64_t batch) { return run_of("small-cnn", "synthetic:600", batch); }

TEST(NoiseMeasurement, IsTakenAtTheStartAndAfterSomeTraining) {
  const trial::GradientNoise noise =
      measure_noise(small_run(50), {.batch = 50}, 256, core::Seconds(10), go_on);
  EXPECT_TRUE(noise.start || noise.later);
  EXPECT_GT(noise.epochs, 0);
  EXPECT_LE(noise.epochs, 1);
}

TEST(NoiseMeasurement, TrainsBeforeTheLaterOneHoweverLittleTimeThereIs) {
  EXPECT_GT(measure_noise(small_run(50), {.batch = 50}, 256, core::Seconds(0), go_on).epochs, 0);
}

TEST(NoiseMeasurement, EndsWhenItIsStopped) {
  const std::atomic<int> stop{1};
  const trial::GradientNoise noise =
      measure_noise(small_run(50), {.batch = 50}, 256, core::Seconds(1e6), stop);
  EXPECT_FALSE(noise.start);
  EXPECT_EQ(noise.epochs, 0);
}

TEST(TriedRate, TellsItsLossOrTheStepAtWhichItDiverged) {
  const trial::RateRun good = try_rate(small_run(50), {.batch = 50}, 30, go_on);
  EXPECT_EQ(good.steps, 30);  // more than an epoch
  ASSERT_TRUE(good.loss);
  EXPECT_GT(*good.loss, 0);
  Options options;
  options.model = "mlp", options.data = "synthetic:600";
  options.pipeline.batch = 50;
  options.optimizer.kind = engine::Optimizer::Kind::sgd;
  const trial::RateRun bad = try_rate(open(options, [](std::string_view) {}),
                                      {.batch = 50, .learning_rate = 1e6}, 30, go_on);
  EXPECT_FALSE(bad.loss);
  EXPECT_GE(bad.steps, 1);
  EXPECT_LT(bad.steps, 30);
}

// CPU epochs whose updates report a norm as a GPU's do: several at a time, every other one.
class ToldNorms : public Epochs {
 public:
  explicit ToldNorms(std::unique_ptr<Epochs> epochs) : epochs_(std::move(epochs)) {}
  engine::Trainer& trainer() override { return epochs_->trainer(); }
  void start(std::uint32_t epoch) override { epochs_->start(epoch); }
  void set_batch(std::int64_t batch) override { epochs_->set_batch(batch); }
  core::Seconds waited() const override { return epochs_->waited(); }
  Sums evaluate() override { return epochs_->evaluate(); }
  core::MemoryByUse memory() const override { return epochs_->memory(); }
  std::span<const Update> next(std::int64_t most) override {
    updates_.clear();
    while (static_cast<std::int64_t>(updates_.size()) < std::min<std::int64_t>(most, 4)) {
      const auto done = epochs_->next(1);
      if (done.empty()) break;
      updates_.push_back(done.front());
      if (++steps_ % 2 == 0) updates_.back().result.gradient_squared = told(steps_);
    }
    return updates_;
  }
  static double told(std::int64_t step) { return 1. / static_cast<double>(step); }

 private:
  std::unique_ptr<Epochs> epochs_;
  std::int64_t steps_ = 0;
  std::vector<Update> updates_;
};

// Wrapped like a GPU's epochs: the weights evolve the same, and from time to time an update has
// both norms, that of the batch over all steps since the last. Nine batches of 64 and one of 24 are
// an epoch.
TEST(MeasuredEpochs, TellNormsAndLeaveTheTrainingAsItIs) {
  const auto run = small_run(64);
  const auto plain = make_epochs(run, run.options, go_on);
  const auto measured = with_gradient_norms(
      std::make_unique<ToldNorms>(make_epochs(run, run.options, go_on)), run, run.options);
  int observations = 0;
  double sum = 0, count = 0;
  std::int64_t step = 0;
  for (std::uint32_t epoch = 0; observations < 2 && epoch < 300; ++epoch) {
    plain->start(epoch), measured->start(epoch);
    for (;;) {
      const auto updates = measured->next(std::numeric_limits<std::int64_t>::max());
      if (updates.empty()) break;
      for (const Update& update : updates) {
        ASSERT_EQ(update.result.loss, plain->next(1).front().result.loss);
        if (++step % 2 == 0 && update.samples == 64) sum += ToldNorms::told(step), ++count;
        if (!update.result.gradient_norms) continue;
        const convergence::GradientNorms& norms = *update.result.gradient_norms;
        EXPECT_EQ(norms.small_batch, 64);
        EXPECT_EQ(norms.big_batch, 256);
        EXPECT_GT(norms.big_squared, 0);
        EXPECT_NEAR(norms.small_squared, sum / count, 1e-12);
        ++observations, sum = count = 0;
      }
    }
    EXPECT_TRUE(plain->next(1).empty());
  }
  EXPECT_GE(observations, 2);
}

// Samples that are where the engine is are told by their numbers, each once before any comes again.
class ResidentNorms final : public ToldNorms {
 public:
  ResidentNorms(std::unique_ptr<Epochs> epochs, std::vector<std::vector<std::uint32_t>>& passes)
      : ToldNorms(std::move(epochs)), passes_(passes) {}
  std::optional<double> squared_norm_of(std::span<const std::uint32_t> samples,
                                        std::int64_t) override {
    passes_.emplace_back(samples.begin(), samples.end());
    return 0.125;
  }

 private:
  std::vector<std::vector<std::uint32_t>>& passes_;
};

TEST(MeasuredEpochs, PassOverResidentSamplesWithoutTheHost) {
  const auto run = small_run(64);
  std::vector<std::vector<std::uint32_t>> passes;
  const auto measured = with_gradient_norms(
      std::make_unique<ResidentNorms>(make_epochs(run, run.options, go_on), passes), run,
      run.options);
  std::optional<convergence::GradientNorms> norms;
  for (std::uint32_t epoch = 0; !norms && epoch < 300; ++epoch) {
    measured->start(epoch);
    for (auto updates = measured->next(1000); !norms && !updates.empty();
         updates = measured->next(1000))
      norms = updates.back().result.gradient_norms;
  }
  ASSERT_TRUE(norms);
  EXPECT_EQ(norms->big_squared, 0.125);
  ASSERT_GE(passes.size(), 3u);
  std::set<std::uint32_t> first_order;  // 600 samples have two passes of 256
  for (const auto& pass : {passes[0], passes[1]}) {
    EXPECT_EQ(pass.size(), 256u);
    first_order.insert(pass.begin(), pass.end());
  }
  EXPECT_EQ(first_order.size(), 512u);
  EXPECT_NE(passes[2], passes[0]);
}

// A window that has time for more norms of parts of a batch takes them; these take none.
TEST(MeasuredEpochs, TakeSeveralNormsOfPartsOfALargeBatch) {
  const auto run = run_of("small-cnn", "synthetic:1200", 512);
  std::vector<std::vector<std::uint32_t>> passes;
  const auto epochs = with_gradient_norms(
      std::make_unique<ResidentNorms>(make_cpu_epochs(run, run.options, go_on), passes), run,
      run.options);
  ASSERT_EQ(passes.size(), 2u);  // to load kernels, and for their time
  for (std::uint32_t epoch = 0; passes.size() == 2 && epoch < 300; ++epoch) {
    epochs->start(epoch);
    while (passes.size() == 2 && !epochs->next(1000).empty()) {
    }
  }
  ASSERT_EQ(passes.size(), 2u + 8);
  std::set<std::uint32_t> seen;
  for (std::size_t i = 2; i < passes.size(); ++i) seen.insert(passes[i].begin(), passes[i].end());
  EXPECT_EQ(seen.size(), 8u * 64) << "other samples for each";
}

// One pass over many samples reveals more than many over few, so it has a plan of its own.
TEST(MeasuredEpochs, PassOverAsMuchAsAQuarterOfTheData) {
  const auto run = run_of("mlp", "synthetic:8192", 64);
  EXPECT_EQ(pass_plan(run.network, run.options, run.dataset, 64), 2048);
  EXPECT_EQ(pass_plan(run.network, run.options, run.dataset, 256), 2048);
  EXPECT_EQ(pass_plan(run.network, run.options, run.dataset, 512), std::nullopt);
  const auto epochs = with_gradient_norms(
      std::make_unique<ToldNorms>(make_cpu_epochs(run, run.options, go_on)), run, run.options);
  std::optional<convergence::GradientNorms> norms;
  for (std::uint32_t epoch = 0; !norms && epoch < 300; ++epoch) {
    epochs->start(epoch);
    for (auto updates = epochs->next(1000); !norms && !updates.empty();
         updates = epochs->next(1000))
      norms = updates.back().result.gradient_norms;
  }
  ASSERT_TRUE(norms);
  EXPECT_EQ(norms->small_batch, 64);
  EXPECT_EQ(norms->big_batch, 2048);
}

// A small batch is compared with several times as many samples, a large one with a part of itself.
TEST(MeasuredEpochs, FollowTheBatch) {
  Options options;
  options.model = "small-cnn", options.data = "synthetic:1200";
  options.schedule = {{.batch = 16, .from_epoch = 0},
                      {.batch = 128, .from_epoch = 1},
                      {.batch = 512, .from_epoch = 2}};
  options.pipeline.batch = 512;
  options.evaluate = false;
  const auto run = open(options, [](std::string_view) {});
  const auto epochs = with_gradient_norms(
      std::make_unique<ToldNorms>(make_cpu_epochs(run, run.options, go_on)), run, run.options);
  for (const auto& [batch, small, big] :
       {std::tuple(16, 16, 256), std::tuple(128, 128, 512), std::tuple(512, 64, 512)}) {
    epochs->set_batch(batch);
    bool told = false;
    for (std::uint32_t epoch = 0; !told && epoch < 300; ++epoch) {
      epochs->start(epoch);
      for (auto updates = epochs->next(1000); !told && !updates.empty();
           updates = epochs->next(1000)) {
        const auto& norms = updates.back().result.gradient_norms;
        if (!norms) continue;
        told = true;
        EXPECT_EQ(norms->small_batch, small);
        EXPECT_EQ(norms->big_batch, big);
      }
    }
    EXPECT_TRUE(told) << batch;
  }
}

}  // namespace
}  // namespace sweetspot::workload::native
