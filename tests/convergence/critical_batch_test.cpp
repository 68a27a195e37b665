#include "convergence/critical_batch.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sweetspot::convergence {
namespace {

// The loss rises by 3% at 128, 6% at 256, 12% at 512 …: 5% is crossed at 2^(7 + 2/3 or so) ≈ 213.
std::vector<BranchLoss> rising(double seed_factor, std::uint64_t seed) {
  std::vector<BranchLoss> branches;
  for (std::int64_t batch = 32; batch <= 1024; batch *= 2)
    branches.push_back({batch, seed, seed_factor * (1 + 0.03 * static_cast<double>(batch) / 128)});
  return branches;
}

std::vector<BranchLoss> of_seeds(std::initializer_list<double> factors) {
  std::vector<BranchLoss> all;
  std::uint64_t seed = 1;
  for (const double factor : factors) {
    const auto one = rising(factor, seed++);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

TEST(CriticalBatch, IsTheLargestWithinTheTolerance) {
  const auto found = critical_batch(of_seeds({0.1, 0.2, 0.15}), 0.05);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->batch, 128);
  EXPECT_FALSE(found->at_least);
  ASSERT_EQ(found->rows.size(), 6u);
  EXPECT_TRUE(found->rows[2].within);
  EXPECT_FALSE(found->rows[3].within);
  EXPECT_EQ(found->rows[0].ratios, std::vector<double>(3, 1.0)) << "each seed against its own";
  ASSERT_TRUE(found->crossing);
  EXPECT_GT(found->crossing->mean, 128);
  EXPECT_LT(found->crossing->mean, 256);
  EXPECT_NEAR(found->crossing->high / found->crossing->low, 1, 1e-9) << "the seeds agree";
}

TEST(CriticalBatch, LiesBeyondWhereEveryBatchIsWithin) {
  const auto found = critical_batch(of_seeds({1, 1}), 0.5);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->batch, 1024);
  EXPECT_TRUE(found->at_least);
}

TEST(CriticalBatch, EndsAtTheFirstBatchThatIsOut) {
  std::vector<BranchLoss> branches = of_seeds({1});
  branches[1].loss = 2;  // 64 is out by chance; what is beyond does not count
  const auto found = critical_batch(branches, 0.05);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->batch, 32);
  EXPECT_FALSE(found->crossing) << "one seed has no interval";
}

TEST(CriticalBatch, ADivergedBatchIsOut) {
  std::vector<BranchLoss> branches = of_seeds({1, 1});
  for (BranchLoss& branch : branches)
    if (branch.batch == 128 && branch.seed == 2) branch.loss = INFINITY;
  const auto found = critical_batch(branches, 0.5);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->batch, 64);
  EXPECT_EQ(found->rows[2].diverged, 1u);
  EXPECT_EQ(found->rows[2].losses.size(), 1u);
}

TEST(CriticalBatch, NeedsTwoBatchesAndASmallestToCompareWith) {
  EXPECT_FALSE(critical_batch({}, 0.05));
  const BranchLoss one[] = {{32, 1, 0.5}};
  EXPECT_FALSE(critical_batch(one, 0.05));
  const BranchLoss diverged[] = {{32, 1, INFINITY}, {64, 1, 0.5}};
  EXPECT_FALSE(critical_batch(diverged, 0.05));
}

}  // namespace
}  // namespace sweetspot::convergence
