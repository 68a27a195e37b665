#include "memory/memory_fit.h"

#include <gtest/gtest.h>

#include "memory/limits.h"

namespace sweetspot::memory {
namespace {

trial::Trial took(std::int64_t batch, core::Bytes bytes) {
  trial::Trial trial;
  trial.setting.batch = batch;
  trial.memory_measured = bytes;
  return trial;
}

TEST(MemoryFit, ExpectsALineThroughWhatWasMeasured) {
  const Predict none;
  const std::vector<trial::Trial> one = {took(8, 180)}, two = {took(8, 180), took(16, 260)};
  EXPECT_FALSE(MemoryFit(one, none).expected_bytes(16));
  EXPECT_FALSE(MemoryFit(one, none).least_bytes(16));
  const MemoryFit fit(two, none);
  EXPECT_NEAR(*fit.expected_bytes(32), 420, 1e-3);
  EXPECT_LT(*fit.least_bytes(32), 420);  // two points leave uncertainty
  EXPECT_GT(*fit.most_bytes(32), 420);
}

TEST(MemoryFit, ChanceIsNoReasonToRefuse) {
  const Predict none;
  const std::vector<trial::Trial> alike = {took(16, 100'000), took(17, 101'000)};
  EXPECT_LE(*MemoryFit(alike, none).least_bytes(4096), 101'000);
  const std::vector<trial::Trial> noisy = {took(16, 100'000), took(17, 101'000), took(18, 99'000)};
  EXPECT_LE(*MemoryFit(noisy, none).least_bytes(4096), 101'000);
}

TEST(MemoryFit, TwoSizesAreNotBelievedFarBeyondThemselves) {
  const Predict none;
  using core::GiB;
  const auto line = [](std::int64_t batch) {
    return took(batch, GiB + static_cast<core::Bytes>(batch) * 16'777'213);  // no round figures
  };
  std::vector<trial::Trial> trials = {line(1), line(16)};
  const MemoryFit two(trials, none);
  EXPECT_TRUE(two.fits(64, 4 * GiB));
  EXPECT_FALSE(two.fits(1024, 20 * GiB));  // by the line it would take 18 GiB
  trials.push_back(line(64)), trials.push_back(line(256));
  EXPECT_TRUE(MemoryFit(trials, none).fits(1024, 20 * GiB));
  EXPECT_TRUE(MemoryFit(trials, none).lacks(1024, 14 * GiB));
}

TEST(MemoryFit, WhatGrowsWithTheSquareIsSeenBeforeItIsTooLarge) {
  const Predict none;
  std::vector<trial::Trial> trials;
  for (const std::int64_t batch : {16, 64, 128})
    trials.push_back(took(batch, core::GiB + static_cast<core::Bytes>(batch * batch) * 100'000));
  const MemoryFit fit(trials, none);
  const double at_256 = 1.0 * core::GiB + 256.0 * 256 * 100'000;
  EXPECT_NEAR(*fit.expected_bytes(256) / at_256, 1, 0.05);
  EXPECT_GE(*fit.most_bytes(256), at_256);
}

TEST(MemoryFit, WhatRanOutSaysHowItGrows) {
  const Predict none;
  std::vector<trial::Trial> trials = {took(1, core::GiB), took(16, core::GiB + 40 * core::MiB)};
  ASSERT_TRUE(MemoryFit(trials, none).fits(128, 8 * core::GiB));
  trials.push_back(took(100, 0));
  trials.back().outcome = trial::Outcome::out_of_memory;
  trials.back().memory_wanted = 9 * core::GiB;
  EXPECT_FALSE(MemoryFit(trials, none).fits(90, 8 * core::GiB));
}

TEST(MemoryFit, WhatItMayGrowByHasToFitToo) {
  const Predict none;
  std::vector<trial::Trial> trials = {took(16, core::GiB)};
  EXPECT_TRUE(MemoryFit(trials, none).fits(16, core::GiB));
  trials.back().memory_margin = core::MiB;
  EXPECT_FALSE(MemoryFit(trials, none).fits(16, core::GiB));
  EXPECT_TRUE(MemoryFit(trials, none).fits(16, core::GiB + core::MiB));
}

TEST(MemoryFit, BelievesTheWorkloadFirst) {
  const Predict known = [](std::int64_t batch) { return std::optional<core::Bytes>(7 * batch); };
  const MemoryFit fit({}, known);
  EXPECT_EQ(fit.expected_bytes(3), 21);
  EXPECT_EQ(fit.least_bytes(3), 21);
  EXPECT_EQ(fit.most_bytes(3), 21);
}

TEST(MemoryAllowed, IsTheHostsUntilATrialShowsAGpu) {
  const Limits limits{.limit = 500, .gpu_limit = 100};
  EXPECT_EQ(allowed({}, limits), 500u);
  std::vector<trial::Trial> trials(2);
  EXPECT_EQ(allowed(trials, limits), 500u);
  trials[1].gpus.resize(1);
  EXPECT_EQ(allowed(trials, limits), 100u);
  EXPECT_EQ(allowed(trials, {.limit = 500}), std::nullopt)
      << "the host's limit is none of the GPU's, of which nothing is known";
}

TEST(MemoryAllowed, IsAShareOfTheLeastThatWasFree) {
  std::vector<trial::Trial> trials(3);
  trials[0].memory_capacity = 1000, trials[1].memory_capacity = 800;
  const Limits limits{.gpu_limit = 900, .gpu_share = 0.9};
  EXPECT_EQ(allowed(trials, limits), 720u);
  trials[1].memory_capacity.reset();
  EXPECT_EQ(allowed(trials, limits), 900u);
}

}  // namespace
}  // namespace sweetspot::memory
