// Concurrently open sessions on a GPU; skipped if there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "engine_cuda/gpu.h"
#include "workload/native/memory.h"
#include "workload/native/resident.h"
#include "workload/native/workload.h"

namespace sweetspot::workload::native {
namespace {

using trial::Setting;

native::Run run_on_gpu(const std::string& model, const std::string& data, bool resident) {
  Options options;
  options.model = model;
  options.data = data;
  options.pipeline.batch = 10;
  options.pipeline.augment_shift = !resident;
  options.device = choose_device("cuda");
  return open(options, [](std::string_view) {});
}

class SideBySideOnGpu : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { REQUIRE_GPU(); }
};

TEST_P(SideBySideOnGpu, EverySessionTellsWhatItWouldTakeByItself) {
  const native::Run run = run_on_gpu("small-cnn", "synthetic:1000", GetParam());
  const auto workload = make_workload(run_on_gpu("small-cnn", "synthetic:1000", GetParam()));
  EXPECT_TRUE(workload->switching().in_place);
  const Setting settings[] = {{.batch = 10},
                              {.batch = 64, .accumulation = 2},
                              {.batch = 500},
                              {.batch = 32},
                              {.batch = 32, .configuration = {.precision = "bf16"}}};
  std::vector<std::unique_ptr<Session>> sessions;
  const auto expect_exact = [&] {
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      if (!sessions[i]) continue;
      EXPECT_EQ(sessions[i]->seen().memory_by_use,
                predict(run.network, options_at(run, settings[i]), run.dataset))
          << "session " << i;
    }
  };
  for (const Setting& setting : settings) {
    sessions.push_back(workload->open(setting));
    expect_exact();
  }
  for (int round = 0; round < 5; ++round)
    for (std::size_t i = 0; i < sessions.size(); ++i) {
      const trial::Step step = sessions[i]->step();
      EXPECT_EQ(step.samples, step.updates * settings[i].batch);
    }
  expect_exact();
  for (const std::size_t closed : {1, 0, 4, 2}) {
    sessions[closed].reset();
    sessions[3]->step();
    expect_exact();
  }
}

// A step right after another session's costs as much as one after its own, except for caches. Only
// printed: a time is not a test.
TEST_P(SideBySideOnGpu, SwitchingIsCheap) {
  const auto workload = make_workload(run_on_gpu("small-cnn", "synthetic:20000", GetParam()));
  const auto one = workload->open({.batch = 100}), two = workload->open({.batch = 400});
  for (int i = 0; i < 20; ++i) one->step(), two->step();  // paces and graphs settle
  const auto seconds_per_update = [&](bool in_turns) {
    std::vector<double> seconds;
    for (int i = 0; i < 40; ++i) {
      if (in_turns) two->step();
      const trial::Step step = one->step();
      seconds.push_back(step.seconds / static_cast<double>(step.updates));
    }
    std::ranges::nth_element(seconds, seconds.begin() + 20);
    return seconds[20];
  };
  const double alone = seconds_per_update(false), in_turns = seconds_per_update(true);
  std::printf("batch 100, %s: %.2f us an update in a row, %.2f us in turns with batch 400\n",
              GetParam() ? "resident" : "fed", 1e6 * alone, 1e6 * in_turns);
}

INSTANTIATE_TEST_SUITE_P(Data, SideBySideOnGpu, testing::Bool(),
                         [](const auto& p) { return p.param ? "resident" : "fed"; });

TEST(SharedOnGpu, TheDataSetIsUploadedOnce) {
  REQUIRE_GPU();
  const native::Run run = run_on_gpu("rgb64-cnn", "synthetic:5000", true);
  const auto workload = make_workload(run_on_gpu("rgb64-cnn", "synthetic:5000", true));
  const core::Bytes uploaded = resident_bytes(options_at(run, {.batch = 8}), run.dataset);
  const auto first = workload->open({.batch = 8});
  first->step();
  const core::Bytes before = engine::cuda::free_memory(0);
  const auto second = workload->open({.batch = 4});
  second->step();
  EXPECT_LT(before - engine::cuda::free_memory(0), uploaded / 2);
}

TEST(SharedOnGpu, ARunTakesWhatIsPredictedForIt) {
  REQUIRE_GPU();
  struct Unheard : Observer {};
  for (const bool resident : {true, false}) {
    native::Run run = run_on_gpu("small-cnn", "synthetic:1000", resident);
    run.options.pipeline.batch = 50;
    run.options.epochs = 1;
    Unheard observer;
    const std::atomic<int> stop = 0;
    const Result result = train(run, observer, stop);
    const auto workload = make_workload(run_on_gpu("small-cnn", "synthetic:1000", resident));
    EXPECT_EQ(workload->predict({.batch = 50}, Extent::whole_run), result.predicted.total());
    EXPECT_EQ(workload->predict({.batch = 50}, Extent::whole_run), result.measured.total());
  }
}

}  // namespace
}  // namespace sweetspot::workload::native
