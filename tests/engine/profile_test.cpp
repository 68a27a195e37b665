#include <gtest/gtest.h>

#include "engine/cpu/cpu.h"
#include "golden.h"

namespace sweetspot::engine {
namespace {

using namespace testing;

// Every operation is either sample-wise or whole, early or late, in this model.
struct Profiled : ::testing::TestWithParam<int> {
  Profiled() { options.threads = GetParam(); }
  model::Network network = model::load_network(golden_path("models/all-layers.json"));
  TrainerOptions options;
  GoldenBatch batch{network, true, 20, 0};
};

TEST_P(Profiled, IsTheSameStepBitForBit) {
  const auto plain = cpu::make_trainer(network, options);
  const auto profiled = cpu::make_trainer(network, options);
  for (const std::int64_t micro_batch : {20, 8}) {
    const StepResult result = plain->step(batch.view(), micro_batch);
    const StepProfile profile = profiled->profile(batch.view(), micro_batch);
    EXPECT_EQ(profile.result.loss, result.loss);
    EXPECT_EQ(profile.result.correct, result.correct);
  }
  const auto expected = plain->variables(), found = profiled->variables();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(found[i].values, expected[i].values) << expected[i].parameter.name;
  EXPECT_EQ(profiled->steps_done(), plain->steps_done());
}

TEST_P(Profiled, TimesEveryOperationWithinTheStep) {
  const auto trainer = cpu::make_trainer(network, options);
  const StepProfile profile = trainer->profile(batch.view(), 20);
  const auto plan = cpu::plan(network, options, 20, false);
  ASSERT_EQ(profile.operations.size(), plan->operations().size() + 1);
  EXPECT_EQ(profile.operations.front().name, plan->operations().front().name);
  ASSERT_EQ(profile.threads.size(), static_cast<std::size_t>(GetParam()));

  std::vector<double> forward(profile.operations.size());
  for (const ThreadProfile& thread : profile.threads) {
    ASSERT_EQ(thread.operations.size(), profile.operations.size());
    core::Seconds in_forward = thread.waiting.forward, in_backward = thread.waiting.backward;
    for (std::size_t i = 0; i < forward.size(); ++i) {
      forward[i] += thread.operations[i].forward.count();
      in_forward += thread.operations[i].forward;
      in_backward += thread.operations[i].backward;
    }
    EXPECT_LE((in_forward + in_backward).count(),
              (profile.result.forward + profile.result.backward + profile.result.update).count());
    EXPECT_GT(in_backward.count(), 0);
  }
  for (std::size_t i = 0; i < forward.size(); ++i)
    EXPECT_GT(forward[i], 0) << profile.operations[i].name;
}

INSTANTIATE_TEST_SUITE_P(Threads, Profiled, ::testing::Values(1, 3));

}  // namespace
}  // namespace sweetspot::engine
