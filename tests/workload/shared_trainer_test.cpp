// Concurrently open sessions of the native workload.
#include "workload/native/shared_trainer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "core/error.h"
#include "workload/native/feed.h"
#include "workload/native/memory.h"
#include "workload/native/workload.h"

namespace sweetspot::workload::native {
namespace {

using core::Use;
using trial::Setting;

native::Run small_run(int threads = 1) {
  Options options;
  options.model = "mlp";
  options.data = "synthetic:100";
  options.pipeline.batch = 10;
  options.threads = threads;
  return open(options, [](std::string_view) {});
}

core::MemoryByUse predicted(const native::Run& run, const Setting& setting) {
  return predict(run.network, options_at(run, setting), run.dataset);
}

TEST(SideBySide, EverySessionTellsWhatItWouldTakeByItself) {
  const native::Run run = small_run(2);
  const auto workload = make_workload(small_run(2));
  EXPECT_TRUE(workload->switching().in_place);
  const core::MemoryByUse before = core::live_buffers();
  const Setting settings[] = {{.batch = 10},
                              {.batch = 64, .accumulation = 2},
                              {.batch = 100, .configuration = {.workers = 0}},
                              {.batch = 32, .configuration = {.workers = 2, .prefetch = 5}},
                              {.batch = 32, .seed = 7}};
  std::vector<std::unique_ptr<Session>> sessions;
  const auto expect_exact = [&] {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      if (!sessions[i]) continue;
      EXPECT_EQ(sessions[i]->seen().memory_by_use, predicted(run, settings[i])) << "session " << i;
    }
  };
  for (const Setting& setting : settings) {
    sessions.push_back(workload->open(setting));
    expect_exact();
  }
  for (int round = 0; round < 3; ++round)
    for (const auto& session : sessions) session->step();
  expect_exact();
  for (const std::size_t closed : {1, 0, 4, 2}) {
    sessions[closed].reset();
    expect_exact();
    sessions[3]->step();
    expect_exact();
  }
  sessions[3].reset();
  EXPECT_EQ(core::live_buffers(), before);
}

TEST(SideBySide, TheTrainerIsThereOnceAndAPlanForEachMicroBatch) {
  const native::Run run = small_run();
  const auto workload = make_workload(small_run());
  const auto held_since = [before = core::live_buffers()] {
    core::MemoryByUse now = core::live_buffers();
    return now -= before;
  };
  const Setting one{.batch = 32},
      same_plan{.batch = 64, .accumulation = 2, .configuration = {.workers = 0}},
      other{.batch = 50};
  const auto first = workload->open(one), second = workload->open(same_plan);
  core::MemoryByUse expected = predicted(run, one);
  expected[Use::input] += predicted(run, same_plan)[Use::input];
  EXPECT_EQ(held_since(), expected);

  auto third = workload->open(other);
  const core::MemoryByUse held = held_since();
  EXPECT_EQ(held[Use::weights], expected[Use::weights]);
  EXPECT_EQ(held[Use::optimizer], expected[Use::optimizer]);
  EXPECT_EQ(held[Use::activations],
            expected[Use::activations] + predicted(run, other)[Use::activations]);
  third.reset();
  EXPECT_EQ(held_since(), expected);

  const auto other_seed = workload->open({.batch = 32, .seed = 7});
  EXPECT_EQ(held_since()[Use::weights], 2 * expected[Use::weights]) << "other weights";
}

TEST(SideBySide, ASessionThatCannotBeOpenedLeavesNothing) {
  const auto workload = make_workload(small_run());
  const core::MemoryByUse before = core::live_buffers();
  EXPECT_THROW(workload->open({.batch = 32, .configuration = {.workers = 1000}}), core::InputError);
  EXPECT_EQ(core::live_buffers(), before);
  const auto session = workload->open({.batch = 16});
  const core::MemoryByUse with_one = core::live_buffers();
  EXPECT_THROW(workload->open({.batch = 32, .configuration = {.workers = 1000}}), core::InputError);
  EXPECT_THROW(workload->open({.batch = 16, .configuration = {.workers = 1000}}), core::InputError);
  EXPECT_EQ(core::live_buffers(), with_one);
  EXPECT_EQ(session->step().samples, 16);
}

// Loss by loss, at every micro-batch: steps in between change nothing.
TEST(SharedTrainer, StepsInTurnsAreTheSameAsAlone) {
  const native::Run run = small_run();
  constexpr std::int64_t batches[] = {10, 32, 50};
  const auto losses = [&](std::span<const std::int64_t> in_turns, std::int64_t of) {
    SharedTrainer shared(run, run.options);
    std::vector<std::unique_ptr<Feed>> feeds;
    for (const std::int64_t batch : in_turns) {
      data::PipelineOptions pipeline = run.options.pipeline;
      pipeline.batch = batch, pipeline.drop_last = true;
      feeds.push_back(std::make_unique<Feed>(run.dataset.train, pipeline));
      shared.acquire(batch);
    }
    std::vector<double> found;
    for (int step = 0; step < 10; ++step)
      for (std::size_t i = 0; i < in_turns.size(); ++i) {
        const double loss = shared.trainer().step(view(feeds[i]->next()), in_turns[i]).loss;
        if (in_turns[i] == of) found.push_back(loss);
      }
    return found;
  };
  for (const std::int64_t batch : batches)
    EXPECT_EQ(losses(batches, batch), losses({&batch, 1}, batch)) << batch;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

TEST(SideBySide, ASessionThatRestsIsIdle) {
  const auto workload = make_workload(small_run(2));
  std::vector<std::unique_ptr<Session>> sessions;
  for (const std::int64_t batch : {10, 20, 50})
    sessions.push_back(
        workload->open({.batch = batch, .configuration = {.workers = 2, .prefetch = 4}}));
  for (const auto& session : sessions) session->step();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // their rings fill meanwhile
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpu_seconds() - before, 0.02);
}

struct Silent : Observer {};

TEST(PredictRun, IsWhatTrainingSaysAndTakes) {
  for (const bool evaluate : {true, false})
    for (const bool drop_last : {true, false}) {
      Options options;
      options.model = "mlp";
      options.data = "synthetic:100";
      options.pipeline.batch = 30;
      options.pipeline.drop_last = drop_last;
      options.accumulation = 2;
      options.epochs = 1;
      options.evaluate = evaluate;
      const native::Run run = open(options, [](std::string_view) {});
      Silent observer;
      const std::atomic<int> stop = 0;
      const Result result = train(run, observer, stop);
      options.pipeline.batch = 10;  // the study's own; the setting decides
      options.accumulation = 1;
      const auto workload = make_workload(open(options, [](std::string_view) {}));
      const Setting setting = setting_of(run.options);
      EXPECT_EQ(workload->predict(setting, Extent::whole_run), result.predicted.total());
      EXPECT_EQ(workload->predict(setting, Extent::whole_run), result.measured.total());
      EXPECT_EQ(workload->predict(setting, Extent::whole_run) > workload->predict(setting),
                evaluate);
      EXPECT_EQ(workload->probes()->evaluate(setting, stop),
                evaluate ? workload->predict(setting, Extent::whole_run) : std::nullopt);
    }
}

}  // namespace
}  // namespace sweetspot::workload::native
