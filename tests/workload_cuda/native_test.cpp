// Native workloads on a real GPU; skipped if there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "collective/gpu/nccl.h"
#include "collective/threads/threads.h"
#include "core/error.h"
#include "data/sources.h"
#include "engine_cuda/gpu.h"
#include "measure/measure.h"
#include "workload/native/epochs.h"
#include "workload/native/memory.h"
#include "workload/native/precision.h"
#include "workload/native/profile.h"
#include "workload/native/workload.h"

namespace sweetspot::workload::native {
namespace {

using testing::HasSubstr;
using trial::Setting;

constexpr auto quiet = [](std::string_view) {};

Options on_gpu(const std::string& model, const std::string& data, std::int64_t batch) {
  Options options;
  options.model = model;
  options.data = data;
  options.pipeline.batch = batch;
  options.device = choose_device("cuda");
  return options;
}

TEST(NativeOnGpu, SessionsHoldWhatWasPredicted) {
  REQUIRE_GPU();
  for (const char* model : {"small-cnn", "mlp", "paper-cnn", "rgb64-cnn"}) {
    const auto workload = make_workload(open(on_gpu(model, "synthetic:500", 10), quiet));
    EXPECT_EQ(workload->device(), "cuda:0");
    for (const Setting& setting :
         {Setting{.batch = 1},
          Setting{.batch = 64, .accumulation = 4, .configuration = {.precision = "bf16"}},
          Setting{.batch = 500, .configuration = {.precision = "tf32"}}}) {
      const auto session = workload->open(setting);
      EXPECT_EQ(session->seen().memory, workload->predict(setting))
          << model << ' ' << setting.batch;
      session->step();
      EXPECT_EQ(session->seen().memory, workload->predict(setting))
          << model << ' ' << setting.batch;
    }
  }
}

TEST(NativeOnGpu, AStepBecomesManyUpdatesAndAddsUp) {
  REQUIRE_GPU();
  const auto workload = make_workload(open(on_gpu("small-cnn", "synthetic:1000", 10), quiet));
  const auto session = workload->open({.batch = 10});
  trial::Step step;
  for (int i = 0; i < 10; ++i) {
    step = session->step();
    EXPECT_EQ(step.samples, 10 * step.updates);
    EXPECT_NEAR(std::accumulate(step.phases.begin(), step.phases.end(), 0.0), step.seconds, 1e-9);
  }
  EXPECT_GT(step.updates, 20);
}

TEST(NativeOnGpu, AFedSessionTrainsToo) {
  REQUIRE_GPU();
  Options options = on_gpu("small-cnn", "synthetic:500", 50);
  options.pipeline.augment_shift = true;
  const auto workload = make_workload(open(options, quiet));
  EXPECT_TRUE(workload->about().has_loader);
  const Setting setting{.batch = 50};
  const auto session = workload->open(setting);
  for (int i = 0; i < 25; ++i) {
    const trial::Step step = session->step();
    EXPECT_EQ(step.samples, step.updates * 50);
  }
  EXPECT_EQ(session->seen().memory, workload->predict(setting));
}

TEST(NativeOnGpu, ATrialKnowsItsDevice) {
  REQUIRE_GPU();
  const auto workload = make_workload(open(on_gpu("small-cnn", "synthetic:1000", 10), quiet));
  const std::atomic<int> stop = 0;
  const trial::Trial trial = measure::measure(*workload, {.batch = 100}, {}, {}, {stop});
  EXPECT_EQ(trial.outcome, trial::Outcome::ok) << trial.note;
  EXPECT_EQ(trial.device, "cuda:0");
  EXPECT_EQ(trial.memory_measured, trial.memory_predicted);
  EXPECT_GT(trial.samples_per_second->mean, 0);
}

TEST(NativeOnGpu, TooMuchIsAnOutcomeAndTheNextTrialRuns) {
  REQUIRE_GPU();
  const auto workload = make_workload(open(on_gpu("rgb128-cnn", "synthetic:60000", 10), quiet));
  const std::atomic<int> stop = 0;
  std::int64_t batch = 1024;  // the largest power of two that fits once, not twice
  while (batch < 32768 && *workload->predict({.batch = 2 * batch}) <= engine::cuda::free_memory(0))
    batch *= 2;
  std::vector<std::unique_ptr<Session>> others;  // as many as fit; other seeds, to share nothing
  while (*workload->predict({.batch = batch}) <= engine::cuda::free_memory(0))
    others.push_back(workload->open({.batch = batch, .seed = others.size()}));
  const trial::Trial large = measure::measure(*workload, {.batch = batch}, {}, {}, {stop});
  EXPECT_EQ(large.outcome, trial::Outcome::out_of_memory) << large.note;
  EXPECT_THAT(large.note, HasSubstr("memory"));
  others.clear();
  const trial::Trial small = measure::measure(*workload, {.batch = 64}, {}, {}, {stop});
  EXPECT_EQ(small.outcome, trial::Outcome::ok) << small.note;
}

// The driver's count for a run, against the prediction.
TEST(NativeOnGpu, TheDriverCountsWhatWasPredicted) {
  REQUIRE_GPU();
  const auto workload = make_workload(open(on_gpu("rgb128-cnn", "synthetic:5000", 10), quiet));
  const Setting setting{.batch = 1024};
  workload->open({.batch = 8})->step();  // creates the context and its modules
  const core::Bytes before = engine::cuda::free_memory(0);
  const auto session = workload->open(setting);
  session->step();
  const auto taken = static_cast<double>(before - engine::cuda::free_memory(0));
  const auto predicted = static_cast<double>(*workload->predict(setting));
  EXPECT_NEAR(taken, predicted, 0.02 * predicted);
}

struct Silent : Observer {};

TEST(NativeOnGpu, TrainingHoldsWhatWasPredictedAndLearns) {
  REQUIRE_GPU();
  for (const bool resident : {true, false}) {
    Options options = on_gpu("small-cnn", "synthetic:2000", 32);
    options.epochs = 3;
    options.pipeline.augment_shift = !resident;
    const native::Run run = open(options, quiet);
    Silent silent;
    const std::atomic<int> stop = 0;
    const Result result = train(run, silent, stop);
    EXPECT_EQ(result.status, Status::finished);
    EXPECT_EQ(result.predicted, result.measured);
    ASSERT_EQ(result.epochs.size(), 3u);
    EXPECT_EQ(result.epochs[2].samples, 2000);
    EXPECT_EQ(result.epochs[2].steps, 63);
    EXPECT_LT(*result.epochs[2].train_loss, *result.epochs[0].train_loss);
    EXPECT_TRUE(result.epochs[2].test_accuracy);
  }
}

TEST(NativeOnGpu, TrainingMeasuresTheNoiseScaleAndStaysAsItIs) {
  REQUIRE_GPU();
  for (const bool resident : {true, false}) {
    Options options = on_gpu("small-cnn", "synthetic:4000", 32);
    options.epochs = 80;
    options.evaluate = false;
    // So low that it learns next to nothing: a network that knows all its samples has no noise.
    options.optimizer.learning_rate = 1e-7;
    options.pipeline.augment_shift = !resident;
    Silent silent;
    const std::atomic<int> stop = 0;
    const Result plain = train(open(options, quiet), silent, stop);
    options.noise_scale = true;
    const Result measured = train(open(options, quiet), silent, stop);
    EXPECT_EQ(measured.last_loss, plain.last_loss);
    EXPECT_EQ(measured.measured, measured.predicted);
    const EpochResult& end = measured.epochs.back();
    ASSERT_TRUE(end.noise) << resident;
    EXPECT_GT(end.noise->observations, 2) << resident;
    EXPECT_GT(end.noise->trace, 0) << resident;
    EXPECT_FALSE(plain.epochs.back().noise);
  }
}

TEST(NativeOnGpu, MaxStepsAreCountedToTheStep) {
  REQUIRE_GPU();
  Options options = on_gpu("small-cnn", "synthetic:1000", 10);
  options.max_steps = 137;
  Silent silent;
  const std::atomic<int> stop = 0;
  const Result result = train(open(options, quiet), silent, stop);
  EXPECT_EQ(result.status, Status::max_steps);
  EXPECT_EQ(result.steps, 137);
}

// The loss of every step, in one epoch's order.
std::vector<double> losses(const native::Run& run, const Options& options, std::size_t steps) {
  const std::atomic<int> stop = 0;
  const auto epochs = make_epochs(run, options, stop);
  std::vector<double> found;
  epochs->start(0);
  while (found.size() < steps)
    for (const Update& update : epochs->next(static_cast<std::int64_t>(steps - found.size())))
      found.push_back(update.result.loss);
  return found;
}

// The largest difference of the first hundred losses.
double apart_on_mnist(const std::string& model, engine::Optimizer::Kind kind, double learning_rate,
                      std::int64_t batch) {
  Options options = on_gpu(model, "mnist", batch);
  options.optimizer.kind = kind, options.optimizer.learning_rate = learning_rate;
  options.evaluate = false;
  options.threads = 8;
  const native::Run run = open(options, quiet);
  const std::vector<double> gpu = losses(run, options, 100);
  options.device = {};
  const std::vector<double> cpu = losses(run, options, 100);
  double worst = 0;
  for (std::size_t i = 0; i < cpu.size(); ++i) worst = std::max(worst, std::abs(gpu[i] - cpu[i]));
  std::printf("%s, %s, batch %d: the losses differ by up to %g\n", model.c_str(),
              std::string(name(kind)).c_str(), static_cast<int>(batch), worst);
  return worst;
}

TEST(NativeOnGpu, TheFirstHundredLossesOnMnistAreTheCpus) {
  REQUIRE_GPU();
  if (!data::is_fetched("mnist")) GTEST_SKIP() << "mnist is not fetched";
  using Kind = engine::Optimizer::Kind;
  EXPECT_LE(apart_on_mnist("paper-cnn", Kind::adam, 0.001, 16), 1e-3);
  EXPECT_LE(apart_on_mnist("paper-cnn", Kind::sgd, 0.01, 100), 1e-3);
  // In some window of some sample two values are equal up to rounding, and a different one wins the
  // maximum: from there on the runs differ. The CPU engine's own instruction sets differ by 0.015
  // here, after the same 1e-8 for the first steps.
  EXPECT_LE(apart_on_mnist("paper-cnn", Kind::momentum, 0.01, 100), 2e-2);
  EXPECT_LE(apart_on_mnist("paper-cnn", Kind::adam, 0.001, 100), 2e-2);
}

// Without maxima and kinks they do not diverge: the same network with tanh and averages.
TEST(NativeOnGpu, TheFirstHundredLossesOfASmoothNetworkAreTheCpus) {
  REQUIRE_GPU();
  if (!data::is_fetched("mnist")) GTEST_SKIP() << "mnist is not fetched";
  using Kind = engine::Optimizer::Kind;
  const std::string smooth = SWEETSPOT_SOURCE_DIR "/tests/fixtures/keras/paper-cnn-smooth.json";
  EXPECT_LE(apart_on_mnist(smooth, Kind::adam, 0.001, 100), 1e-4);
  EXPECT_LE(apart_on_mnist(smooth, Kind::momentum, 0.01, 100), 1e-4);
}

// Its gradients go through NCCL, and are applied by a separate pass.
TEST(NativeOnGpu, TheOnlyRankOfNcclLearnsAsWithout) {
  REQUIRE_GPU();
  if (const auto lack = collective::nccl_lack()) GTEST_SKIP() << *lack;
  for (const std::int64_t accumulation : {1, 2}) {
    Options options = on_gpu("paper-cnn", "synthetic:1000", 50);
    options.accumulation = accumulation;
    options.evaluate = false;
    const native::Run run = open(options, quiet);
    const std::vector<double> without = losses(run, options, 20);
    const auto alone = collective::alone();
    const auto group = collective::join_nccl(*alone, 0);
    options.ranks.group = alone.get(), options.ranks.on_gpus = group.get();
    const std::vector<double> with = losses(run, options, 20);
    for (std::size_t i = 0; i < with.size(); ++i) EXPECT_NEAR(with[i], without[i], 1e-3) << i;
  }
}

TEST(NativeOnGpu, APrecisionIsChosenWithItsReason) {
  REQUIRE_GPU();
  const native::Run run = open(on_gpu("small-cnn", "synthetic:2000", 50), quiet);
  const PrecisionChoice choice = choose_precision(run, 50);
  EXPECT_THAT(choice.reason, HasSubstr(name(choice.precision)));
}

TEST(NativeOnGpu, AProfileTakesTheGraphApart) {
  REQUIRE_GPU();
  const native::Run run = open(on_gpu("small-cnn", "synthetic:1000", 50), quiet);
  const std::atomic<int> stop = 0;
  const Profile found = profile(run, {.batch = 50}, {.steps = 3}, stop);
  EXPECT_TRUE(found.in_graph);
  EXPECT_EQ(found.steps.size(), 3u);
  double apart = 0;
  for (const OperationTime& operation : operation_times(found)) apart += operation.seconds();
  EXPECT_GT(apart, 0);
  EXPECT_GT(found.step_seconds, 0);
}

// Poisons the context for good: runs in its own process.
void lose_device() {
  const native::Run run = open(on_gpu("small-cnn", "synthetic:100", 10), quiet);
  const auto trainer =
      engine::cuda::make_trainer(run.network, gpu_options(run.options, run.network));
  const data::Samples& s = run.dataset.train;
  trainer->upload(engine::cuda::Split::train,
                  {static_cast<std::int64_t>(s.count), s.bytes, {}, s.labels, {}});
  const std::vector<std::uint32_t> nowhere(100, 0xffff'ffffu);
  try {
    trainer->start(nowhere, 10, 10);
    trainer->finish();
  } catch (const core::DeviceLost& lost) {
    std::fprintf(stderr, "%s\n", lost.what());
    std::_Exit(7);
  }
  std::_Exit(0);
}

TEST(NativeOnGpuDeathTest, ALostDeviceIsToldFromAFailure) {
  REQUIRE_GPU();
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(lose_device(), testing::ExitedWithCode(7), "the GPU was lost");
}

}  // namespace
}  // namespace sweetspot::workload::native
