#include "convergence/batch_growth.h"

#include <gtest/gtest.h>

namespace sweetspot::convergence {
namespace {

// Step time of 9 samples' worth of overhead: progress is largest at √(9 · noise scale).
std::vector<Rung> ladder() {
  std::vector<Rung> speeds;
  for (std::int64_t batch = 4; batch <= 1024; batch *= 2)
    speeds.push_back({batch, static_cast<double>(batch) / static_cast<double>(9 + batch)});
  return speeds;
}

std::int64_t grown_fully(std::int64_t batch, double noise_scale) {
  for (std::int64_t next; (next = grown_batch(ladder(), batch, noise_scale)) != batch; batch = next)
    EXPECT_EQ(next, 2 * batch) << "a rung at a time";
  return batch;
}

TEST(BatchGrowth, EndsWhereProgressASecondIsLargest) {
  EXPECT_EQ(grown_fully(4, 7), 8);       // √63
  EXPECT_EQ(grown_fully(4, 114), 32);    // √1026
  EXPECT_EQ(grown_fully(4, 1800), 128);  // √16200
  EXPECT_EQ(grown_fully(4, 1e9), 1024) << "as far as the ladder goes";
}

TEST(BatchGrowth, NeverShrinks) {
  EXPECT_EQ(grown_batch(ladder(), 512, 7), 512);
  EXPECT_EQ(grown_batch(ladder(), 16, 0), 16) << "no noise, nothing gained by averaging it";
}

TEST(SampleWorth, IsHalfAtTheNoiseScale) {
  EXPECT_DOUBLE_EQ(sample_worth(300, 300), 0.5);
  EXPECT_NEAR(sample_worth(1, 300), 1, 0.01);
}

}  // namespace
}  // namespace sweetspot::convergence
