#include "learning/critical_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/memory_store.h"

namespace sweetspot::learning {
namespace {

using tests::Kept;
using tests::MemoryWriter;

// The loss rises by 4% per doubling beyond 128; a seed shifts all losses alike.
class FakeBranching : public workload::Branching {
 public:
  std::optional<workload::BranchPoint> begin(const std::atomic<int>&) override {
    return workload::BranchPoint{2, 0.5, stats::Interval{200, 180, 220}};
  }
  std::optional<core::Bytes> predict(const trial::Setting& setting) const override {
    return static_cast<core::Bytes>(1000 * setting.batch);
  }
  workload::Branch branch(const trial::Setting& setting, std::int64_t samples,
                          const std::atomic<int>&) override {
    rates[setting.batch] = setting.learning_rate;
    ++branches;
    workload::Branch branch;
    branch.samples = samples, branch.steps = samples / setting.batch;
    if (setting.batch >= diverges_from) {
      branch.outcome = trial::Outcome::crashed;
      branch.note = "the loss was no number";
      return branch;
    }
    double loss = 0.1 * static_cast<double>(setting.seed);
    for (std::int64_t batch = 256; batch <= setting.batch; batch *= 2) loss *= 1.04;
    branch.loss = loss;
    return branch;
  }

  std::map<std::int64_t, double> rates;
  std::int64_t diverges_from = 1 << 30;
  int branches = 0;
};

CriticalBatchOptions options() {
  CriticalBatchOptions options;
  options.batches = {32, 64, 128, 256, 512, 1024};
  options.seeds = {1, 2, 3};
  options.samples = 10'240;
  options.rule = convergence::LearningRateRule::linear;
  return options;
}

study::Result run(FakeBranching& branching, Kept& kept, const CriticalBatchOptions& asked,
                  int stop_value = 0) {
  MemoryWriter writer(kept);
  study::Observer quiet;
  const std::atomic<int> stop{stop_value};
  return critical_batch(branching, writer, asked, quiet, stop);
}

TEST(CriticalBatchStudy, BranchesEveryBatchWithEverySeedAndKeepsThem) {
  FakeBranching branching;
  Kept kept;
  const study::Result result = run(branching, kept, options());
  EXPECT_EQ(result.answer.end, trial::End::found);
  EXPECT_EQ(kept.study.trials.size(), 18u);
  EXPECT_EQ(kept.study.end, trial::End::found);
  const auto& made = *result.answer.get<advise::CriticalBatchAnswer>();
  ASSERT_TRUE(made.found);
  EXPECT_EQ(made.found->batch, 256) << "one doubling beyond 128 is 4%, two are 8.2%";
  EXPECT_DOUBLE_EQ(branching.rates[64], 0.002);
  EXPECT_DOUBLE_EQ(branching.rates[1024], 0.001 * 200 / 32) << "flat beyond the noise scale";
  EXPECT_EQ(made.rows[0].updates, 320);
  EXPECT_EQ(tests::stored<advise::CriticalBatchAnswer>(kept), made) << "it is kept";
  EXPECT_EQ(kept.study.trials[0].steps, 320);
  EXPECT_EQ(kept.study.trials[0].losses.back().value, 0.1);
}

TEST(CriticalBatchStudy, GoesOnWhereItWas) {
  Kept kept;
  {
    FakeBranching branching;
    CriticalBatchOptions first = options();
    first.seeds = {1};
    run(branching, kept, first);
  }
  FakeBranching branching;
  const study::Result result = run(branching, kept, options());
  EXPECT_EQ(branching.branches, 12);
  EXPECT_EQ(result.resumed, 6u);
  EXPECT_EQ(result.answer.get<advise::CriticalBatchAnswer>()->rows[0].losses.size(), 3u);
}

TEST(CriticalBatchStudy, LeavesOutWhatDoesNotFitAndWhatDiverges) {
  FakeBranching branching;
  branching.diverges_from = 256;
  Kept kept;
  CriticalBatchOptions asked = options();
  asked.memory_limit = 600'000;
  const study::Result result = run(branching, kept, asked);
  EXPECT_EQ(branching.rates.count(1024), 0u);
  EXPECT_EQ(result.trials.back().outcome, trial::Outcome::refused);
  const auto& made = *result.answer.get<advise::CriticalBatchAnswer>();
  ASSERT_TRUE(made.found);
  EXPECT_EQ(made.found->batch, 128);
  EXPECT_EQ(made.rows[3].diverged, 3);
}

TEST(CriticalBatchStudy, AStopIsNoAnswer) {
  FakeBranching branching;
  Kept kept;
  const study::Result result = run(branching, kept, options(), 1);
  EXPECT_EQ(result.answer.end, trial::End::stopped);
  EXPECT_EQ(branching.branches, 0);
  EXPECT_FALSE(result.answer.get<advise::CriticalBatchAnswer>()->found);
}

}  // namespace
}  // namespace sweetspot::learning
