#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/error.h"
#include "workload/native/memory.h"
#include "workload/native/workload.h"

namespace sweetspot::workload::native {
namespace {

using trial::Phase;
using trial::Setting;

std::unique_ptr<Workload> tiny_workload(const std::string& data = "synthetic:100",
                                        data::LoadDelay delay = {}) {
  Options options;
  options.model = "mlp";
  options.data = data;
  options.pipeline.batch = 10;
  options.pipeline.delay = delay;
  return make_workload(open(options, [](std::string_view) {}));
}

TEST(NativeWorkload, SaysWhatItRuns) {
  const auto workload = tiny_workload();
  EXPECT_EQ(workload->name(), "mlp on synthetic");
  EXPECT_EQ(workload->about().samples, 100);
  EXPECT_EQ(workload->device(), "cpu");
}

TEST(NativeWorkload, EveryStepIsOneWholeBatchEpochAfterEpoch) {
  const auto workload = tiny_workload();
  const auto session = workload->open({.batch = 30});  // 100 = 3 × 30 + 10 left out
  for (int step = 0; step < 20; ++step) EXPECT_EQ(session->step().samples, 30);
}

TEST(NativeWorkload, PhasesAddUpToTheStep) {
  const auto workload = tiny_workload();
  const auto session = workload->open({.batch = 20, .accumulation = 4});
  for (int i = 0; i < 10; ++i) {
    const trial::Step step = session->step();
    EXPECT_GT(step.seconds, 0);
    EXPECT_NEAR(std::accumulate(step.phases.begin(), step.phases.end(), 0.0), step.seconds, 1e-9);
    for (const double seconds : step.phases) EXPECT_GE(seconds, 0);
  }
}

TEST(NativeWorkload, WaitingForDataIsSeen) {
  const auto workload = tiny_workload("synthetic:100", {core::Seconds(0.005), false});
  const auto session = workload->open({.batch = 10, .configuration = {.workers = 0}});
  for (int i = 0; i < 3; ++i)
    EXPECT_GE(session->step().phases[static_cast<std::size_t>(Phase::data_wait)], 0.005);
}

TEST(NativeWorkload, MemoryIsWhatWasPredictedAndIsGivenBack) {
  const auto workload = tiny_workload();
  const core::Bytes before = core::live_buffers().total();
  for (const Setting& setting :
       {Setting{.batch = 1}, Setting{.batch = 64, .accumulation = 2},
        Setting{.batch = 100, .configuration = {.workers = 0}},
        Setting{.batch = 7, .configuration = {.workers = 2, .prefetch = 5}}}) {
    const auto session = workload->open(setting);
    session->step();
    EXPECT_EQ(session->seen().memory, workload->predict(setting)) << setting.batch;
  }
  EXPECT_EQ(core::live_buffers().total(), before);
}

TEST(NativeWorkload, RefusesWhatCannotBeRun) {
  const auto workload = tiny_workload();
  EXPECT_THROW(workload->open({.batch = 101}), core::InputError);
  EXPECT_THROW(workload->open({.batch = 0}), core::InputError);
  EXPECT_THROW(workload->open({.batch = 10, .accumulation = 3}), core::InputError);
  EXPECT_THROW(workload->open({.batch = 10, .configuration = {.precision = "fp16"}}),
               core::InputError);
}

TEST(NativeWorkload, SettingAndOptionsSayTheSame) {
  Options options;
  options.model = "mlp";
  options.data = "synthetic:100";
  const native::Run run = open(options, [](std::string_view) {});
  const Setting setting{.batch = 40,
                        .accumulation = 2,
                        .learning_rate = 0.5,
                        .seed = 7,
                        .configuration = {.workers = 3, .prefetch = 4}};
  const Options at = options_at(run, setting);
  EXPECT_EQ(setting_of(at), setting);
  EXPECT_EQ(at.pipeline.seed, 7u) << "the order of the samples has the same seed";
}

}  // namespace
}  // namespace sweetspot::workload::native
