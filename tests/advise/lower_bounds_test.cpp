// Whether a kernel of ours is held against the machine.
#include <gtest/gtest.h>

#include "advise/advise.h"
#include "advise/made.h"

namespace sweetspot::tests {
namespace {

using namespace advise;
using trial::OperationCost;

const Roofline machine{1e9, 1e8};  // FLOPs and bytes a second

// An operation of so many seconds whose floor is a millisecond, by its bytes.
OperationCost operation(const std::string& name, double seconds, const std::string& kernel) {
  return {name, kernel, seconds, 1e5, 1e5};
}

TEST(Floor, IsTheLongerOfArithmeticAndTraffic) {
  EXPECT_DOUBLE_EQ(*floor_seconds({"a", "", 1, 1e9, 1e3}, machine), 1);
  EXPECT_DOUBLE_EQ(*floor_seconds({"a", "", 1, 1e3, 1e8}, machine), 1);
  EXPECT_DOUBLE_EQ(*floor_seconds({"a", "", 1, 1e9, 1e9}, {1e9, std::nullopt}), 1);
}

TEST(Floor, IsUnknownWithoutWorkOrMachine) {
  EXPECT_FALSE(floor_seconds({"waiting", "", 1, 0, 0}, machine));
  EXPECT_FALSE(floor_seconds({"a", "", 1, 1e9, 1e9}, {}));
}

TEST(SlowKernel, IsFarAboveItsFloorAndMuchOfTheStep) {
  const std::vector<OperationCost> step{operation("conv", 0.005, "convolution"),
                                        operation("norm", 0.030, "normalisation")};
  const auto found = slow_kernel(step, machine);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->operation, "norm");
  EXPECT_EQ(found->alike, 0);
  EXPECT_NEAR(found->share, 30.0 / 35, 1e-12);
  EXPECT_NEAR(found->times_floor, 30, 1e-9);
}

TEST(SlowKernel, IsNotOneNearItsFloor) {
  EXPECT_FALSE(slow_kernel(std::vector{operation("conv", 0.009, "convolution")}, machine));
}

TEST(SlowKernel, IsNotOneThatHardlyCounts) {
  EXPECT_FALSE(slow_kernel(std::vector{operation("norm", 0.030, "normalisation"),
                                       operation("conv", 0.1, "convolution"),
                                       {"waiting", "", 0.01, 0, 0}},
                           {1e9, 1e7}));
}

TEST(SlowKernel, IsNoneOfAStepThatMostlyWaitsForData) {
  const SlowKernel kernel{"loss", 0, 0.6, 50};
  EXPECT_NEAR(of_whole_step(kernel, 0.5)->share, 0.3, 1e-12);
  EXPECT_FALSE(of_whole_step(kernel, 0.6));
  EXPECT_FALSE(of_whole_step(std::nullopt, 0));
}

TEST(SlowKernel, IsOneInSmallPiecesToo) {
  std::vector<OperationCost> step{operation("conv", 0.020, "convolution")};
  step.front().bytes *= 20;
  for (int i = 0; i < 4; ++i)
    step.push_back(operation("norm_" + std::to_string(i), 0.011 + 0.001 * i, "normalisation"));
  const auto found = slow_kernel(step, machine);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->operation, "norm_3") << "the longest";
  EXPECT_EQ(found->alike, 3);
  EXPECT_NEAR(found->share, 50.0 / 70, 1e-12);
  EXPECT_NEAR(found->times_floor, 12.5, 1e-9);
}

TEST(SlowKernel, IsOneBesideOthersThatItsKernelDoesWell) {
  std::vector<OperationCost> step{operation("strided", 0.030, "convolution"),
                                  operation("usual", 0.040, "convolution")};
  step.back().bytes *= 20;
  const auto found = slow_kernel(step, machine);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->operation, "strided");
  EXPECT_EQ(found->alike, 0);
}

TEST(SlowKernel, IsNotHiddenByThreadsThatWait) {
  EXPECT_TRUE(slow_kernel(std::vector<OperationCost>{operation("norm", 0.030, "normalisation"),
                                                     {"waiting", "", 1, 0, 0}},
                          machine));
}

TEST(SlowKernel, IsNotJudgedByTheTimeOfALaunch) {
  EXPECT_FALSE(slow_kernel(std::vector{OperationCost{"loss", "loss", 10e-6, 1, 1}}, machine));
}

TEST(SlowKernel, IsAReasonOfTheAnswer) {
  const std::vector<std::int64_t> tried{16, 128, 1024};
  Facts facts;
  facts.slow_kernel = SlowKernel{"norm_3", 3, 0.71, 12.5};
  const auto made =
      recommend(made_trials(tried, 0.002, 1e-4), made_decision(tried, 0.002, 1e-4, 128), facts);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->slow_kernel, facts.slow_kernel);
  EXPECT_EQ(std::ranges::count(made->reasons, Reason::slow_kernel), 1);
  facts.slow_kernel.reset();
  const auto without =
      recommend(made_trials(tried, 0.002, 1e-4), made_decision(tried, 0.002, 1e-4, 128), facts);
  EXPECT_EQ(std::ranges::count(without->reasons, Reason::slow_kernel), 0);
}

}  // namespace
}  // namespace sweetspot::tests
