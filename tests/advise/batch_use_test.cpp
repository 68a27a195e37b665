// Whether a program uses the batch that it is given, from what it showed at each.
#include "advise/batch_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace sweetspot::advise {
namespace {

// A program of 60,000 samples: 10 ms and 50 µs a sample, 200 MiB and 100 KiB a sample.
struct Showing {
  std::function<std::int64_t(std::int64_t)> used = [](std::int64_t batch) { return batch; };
  double fixed_seconds = 0.010, per_sample_seconds = 50e-6;
  double per_sample_bytes = 0;
  bool has_total = false;
  std::int64_t log_interval = 0;  // of lines that count samples

  BatchSigns at(std::int64_t batch) const {
    const std::int64_t size = used(batch);
    BatchSigns signs;
    signs.batch = batch;
    signs.step_seconds = fixed_seconds + per_sample_seconds * static_cast<double>(size);
    signs.memory = static_cast<core::Bytes>(200 * core::MiB) +
                   static_cast<core::Bytes>(per_sample_bytes * static_cast<double>(size));
    if (has_total) signs.steps_total = (60'000 + size - 1) / size;
    if (log_interval > 0) signs.sample_stride = log_interval * size, signs.step_seconds.reset();
    return signs;
  }
};

BatchUseVerdict judge(const Showing& made, const std::vector<std::int64_t>& sizes) {
  std::vector<BatchSigns> signs;
  for (const std::int64_t batch : sizes) signs.push_back(made.at(batch));
  return batch_use(signs);
}

std::int64_t always_64(std::int64_t) { return 64; }
std::int64_t at_most_256(std::int64_t batch) { return std::min<std::int64_t>(batch, 256); }

TEST(BatchUse, OneBatchOrTwoThatAreCloseTellNothing) {
  EXPECT_EQ(judge({}, {}).use, BatchUse::too_few);
  EXPECT_EQ(judge({}, {16}).use, BatchUse::too_few);
  EXPECT_EQ(judge({.used = always_64}, {16, 48}).use, BatchUse::too_few);
}

TEST(BatchUse, AnyOneOfTimeMemoryTotalAndSamplesShowsIt) {
  const std::vector<std::int64_t> sizes{1, 16, 256};
  EXPECT_EQ(judge({}, sizes).use, BatchUse::used);
  EXPECT_EQ(judge({.per_sample_seconds = 0, .per_sample_bytes = 100 * 1024}, sizes).use,
            BatchUse::used);
  EXPECT_EQ(judge({.per_sample_seconds = 0, .has_total = true}, sizes).use, BatchUse::used);
  EXPECT_EQ(judge({.log_interval = 10}, sizes).use, BatchUse::used);
}

TEST(BatchUse, ACountThatStaysWhereNothingMovesIsABatchThatIsIgnored) {
  for (const Showing& made : {Showing{.used = always_64, .has_total = true},
                              Showing{.used = always_64, .log_interval = 10}}) {
    const BatchUseVerdict found = judge(made, {1, 16});
    EXPECT_EQ(found.use, BatchUse::ignored);
    EXPECT_TRUE(is_settled_doubt(found));
  }
}

// "--max-steps 50000": the batch has nothing to do with it.
TEST(BatchUse, ANumberOfStepsThatSomebodyTypedStaysAtEachBatch) {
  const auto at = [](std::int64_t batch, std::int64_t total) {
    BatchSigns signs = Showing{.fixed_seconds = 6e-3, .per_sample_seconds = 0.4e-3}.at(batch);
    signs.steps_total = total;
    return signs;
  };
  for (const std::int64_t total : {50'000, 1200, 938})
    EXPECT_FALSE(is_settled_doubt(batch_use(std::vector{at(1, total), at(4, total)}))) << total;
  EXPECT_EQ(batch_use(std::vector{at(1, 50'000), at(4, 50'000), at(16, 50'000)}).use,
            BatchUse::used);
  const Showing flat{.per_sample_seconds = 0};
  std::vector<BatchSigns> signs{flat.at(1), flat.at(16)};
  signs[0].steps_total = signs[1].steps_total = 50'000;
  EXPECT_EQ(batch_use(signs).use, BatchUse::silent) << "larger batches may yet show it";
}

TEST(BatchUse, WithoutACountLargerBatchesAreTriedBeforeItIsDoubted) {
  const Showing made{.used = always_64};
  EXPECT_EQ(judge(made, {1, 16}).use, BatchUse::silent);
  EXPECT_FALSE(is_settled_doubt(judge(made, {1, 16, 256})));
  EXPECT_TRUE(is_doubtful(judge(made, {1, 16, 256})));
  EXPECT_TRUE(is_settled_doubt(judge(made, {1, 16, 256, 4096})));
}

// As a small network on a large GPU.
TEST(BatchUse, OverheadThatAtLastEndsIsNoDoubt) {
  const Showing made{.per_sample_seconds = 1e-6};
  EXPECT_EQ(judge(made, {1, 16, 256}).use, BatchUse::silent);
  EXPECT_EQ(judge(made, {1, 16, 256, 4096}).use, BatchUse::used);
}

TEST(BatchUse, AStepThatGrowsALittleAndThenStaysIsNotYetAClamp) {
  std::vector<BatchSigns> signs{Showing{}.at(1), Showing{}.at(16), Showing{}.at(256)};
  signs[0].step_seconds = 0.010, signs[1].step_seconds = 0.014, signs[2].step_seconds = 0.014;
  EXPECT_EQ(batch_use(signs).use, BatchUse::silent);
}

// As where other kernels or more threads take over: what rests may grow again.
TEST(BatchUse, APlateauOfStepTimesIsASureClampOnlyOverSixteenTimesTheBatch) {
  std::vector<BatchSigns> signs;
  const auto add = [&](std::int64_t batch, double seconds) {
    signs.push_back(Showing{}.at(batch));
    signs.back().step_seconds = seconds;
    return batch_use(signs);
  };
  add(1, 0.0025), add(4, 0.0033), add(16, 0.0070);
  const BatchUseVerdict resting = add(64, 0.0076);
  EXPECT_EQ(resting.use, BatchUse::clamped);
  EXPECT_FALSE(resting.exhausted) << "larger ones are tried";
  EXPECT_EQ(add(256, 0.0180).use, BatchUse::used);
  signs.pop_back();
  EXPECT_TRUE(add(256, 0.0076).exhausted);
}

TEST(BatchUse, NoiseOfAQuarterIsNoMovement) {
  std::vector<BatchSigns> signs;
  for (const std::int64_t batch : {1, 16, 256, 4096}) {
    signs.push_back(Showing{.used = always_64}.at(batch));
    *signs.back().step_seconds *= batch == 16 ? 1.2 : batch == 256 ? 0.9 : 1;
  }
  EXPECT_TRUE(is_settled_doubt(batch_use(signs)));
}

// A bar over epochs: each is shorter with a larger batch.
TEST(BatchUse, StepsThatGetShorterAreNoSteps) {
  std::vector<BatchSigns> signs{Showing{}.at(1), Showing{}.at(16)};
  signs[0].step_seconds = 60, signs[1].step_seconds = 4;
  EXPECT_EQ(batch_use(signs).use, BatchUse::miscounted);
  EXPECT_TRUE(is_settled_doubt(batch_use(signs)));
}

// Others had the CPU while the small one ran.
TEST(BatchUse, ADisturbedRunDoesNotMakeStepsShorter) {
  const auto run = [](std::int64_t batch, core::Interval samples_per_second, bool contended) {
    trial::Trial trial;
    trial.setting.batch = batch;
    trial.samples_per_second = samples_per_second;
    trial.contention.contended = contended;
    return trial;
  };
  const trial::Trial large = run(64, {1806, 1750, 1860}, true);
  const auto judged = [&](const trial::Trial& small) {
    return batch_use(batch_signs(std::vector{small, large})).use;
  };
  EXPECT_NE(judged(run(16, {188, 49, 712}, true)), BatchUse::miscounted);
  EXPECT_EQ(judged(run(16, {188, 180, 200}, true)), BatchUse::miscounted);
  EXPECT_EQ(judged(run(16, {188, 49, 712}, false)), BatchUse::miscounted);
}

TEST(BatchUse, AClampIsFoundByEachKindOfSign) {
  const Showing slow{.used = at_most_256, .per_sample_seconds = 1e-3};
  const Showing held{.used = at_most_256, .per_sample_seconds = 0, .per_sample_bytes = 1 << 20};
  const Showing counted{.used = at_most_256, .per_sample_seconds = 0, .has_total = true};
  const Showing logged{.used = at_most_256, .log_interval = 20};
  for (const Showing& made : {slow, held, counted, logged}) {
    EXPECT_EQ(judge(made, {1, 16, 256}).use, BatchUse::used);
    const BatchUseVerdict found = judge(made, {1, 16, 256, 4096});
    ASSERT_EQ(found.use, BatchUse::clamped);
    EXPECT_NEAR(static_cast<double>(*found.clamp), 256, 2);
    EXPECT_EQ(found.limit, 256);
    EXPECT_FALSE(is_doubtful(found));
  }
}

TEST(BatchUse, AClampBetweenBatchesLimitsToAPowerOfTwoBelowIt) {
  Showing made{.used = [](std::int64_t batch) { return std::min<std::int64_t>(batch, 700); },
               .per_sample_seconds = 1e-3};
  const std::vector<std::int64_t> sizes{1, 16, 256, 4096, 65536};
  ASSERT_EQ(judge(made, sizes).use, BatchUse::clamped);
  EXPECT_NEAR(static_cast<double>(*judge(made, sizes).clamp), 700, 5);
  EXPECT_EQ(judge(made, sizes).limit, 512);
  // What is counted is known better than what is timed.
  made.used = [](std::int64_t batch) { return std::min<std::int64_t>(batch, 1000); };
  made.has_total = true;
  EXPECT_EQ(judge(made, sizes).clamp, 1000);
  EXPECT_EQ(judge(made, sizes).limit, 512);
}

TEST(BatchUse, ABatchLargerThanTheDataIsOneOfAllOfIt) {
  const Showing made{.used = [](std::int64_t b) { return std::min<std::int64_t>(b, 60'000); },
                     .has_total = true};
  const BatchUseVerdict found = judge(made, {1, 256, 65'536, 1 << 20});
  ASSERT_EQ(found.use, BatchUse::clamped);
  EXPECT_EQ(found.clamp, 60'000);
}

TEST(BatchUse, OutOfMemoryShowsThatItArrives) {
  std::vector<BatchSigns> signs{Showing{.per_sample_seconds = 0}.at(1),
                                Showing{.per_sample_seconds = 0}.at(256)};
  EXPECT_TRUE(is_doubtful(batch_use(signs)));
  signs.push_back({.batch = 4096, .too_large = true});
  EXPECT_EQ(batch_use(signs).use, BatchUse::used);
}

TEST(BatchUse, AClientThatCountsSamplesTellsWhatIsUsed) {
  const auto told = [](std::int64_t batch, std::int64_t samples) {
    return BatchSigns{.batch = batch, .samples_per_step = samples};
  };
  const std::vector<BatchSigns> ignored{told(1, 64), told(16, 64)};
  EXPECT_EQ(batch_use(ignored).use, BatchUse::ignored);
  EXPECT_EQ(batch_use(ignored).used, 64);
  EXPECT_EQ(batch_use(std::vector{told(1, 64)}).used, 64) << "one batch is enough";
  EXPECT_EQ(batch_use(std::vector{told(64, 64)}).use, BatchUse::too_few);
  const std::vector<BatchSigns> each_gpu{told(1, 8), told(16, 128)};
  EXPECT_EQ(batch_use(each_gpu).use, BatchUse::scaled);
  EXPECT_EQ(batch_use(each_gpu).scale, 8);
  const std::vector<BatchSigns> clamped{told(1, 1), told(16, 16), told(256, 32)};
  EXPECT_EQ(batch_use(clamped).use, BatchUse::used) << "so far";
  const std::vector<BatchSigns> further{told(1, 1), told(16, 16), told(256, 32), told(4096, 32)};
  ASSERT_EQ(batch_use(further).use, BatchUse::clamped);
  EXPECT_EQ(batch_use(further).limit, 32);
}

trial::Trial timed_run(std::int64_t batch, double seconds) {
  trial::Trial trial;
  trial.setting.batch = batch;
  const double speed = static_cast<double>(batch) / seconds;
  trial.samples_per_second = {speed, speed, speed};
  trial.step_seconds_median = seconds;
  trial.memory_measured = 100 * core::MiB;
  trial.step_source = "tqdm bar";
  return trial;
}

TEST(BatchUse, SignsAreOfEachBatchOverItsRuns) {
  std::vector<trial::Trial> trials{timed_run(16, 0.04), timed_run(1, 0.02), timed_run(16, 0.01)};
  trials[0].steps_total = 3750;
  trials[2].memory_measured = 110 * core::MiB;
  const std::vector<BatchSigns> signs = batch_signs(trials);
  ASSERT_EQ(signs.size(), 2u);
  EXPECT_EQ(signs[0].batch, 1);
  EXPECT_NEAR(*signs[1].step_seconds, 0.02, 1e-9) << "the geometric mean";
  EXPECT_EQ(signs[1].memory, 110 * core::MiB);
  EXPECT_EQ(signs[1].steps_total, 3750);
}

TEST(BatchUse, LogLinesOfSamplesHaveNoStepTime) {
  trial::Trial trial = timed_run(16, 0.04);
  trial.samples_per_step = 16;
  EXPECT_TRUE(batch_signs({&trial, 1}).at(0).step_seconds);
  trial.sample_stride = 160;
  EXPECT_FALSE(batch_signs({&trial, 1}).at(0).step_seconds);
}

TEST(BatchUse, ARefusedTrialStillShowsItsSteps) {
  trial::Trial refused = timed_run(4096, 0.04);
  refused.outcome = trial::Outcome::refused;
  refused.samples_per_second.reset();
  EXPECT_DOUBLE_EQ(*batch_signs({&refused, 1}).at(0).step_seconds, 0.04);
  trial::Trial crashed;
  crashed.outcome = trial::Outcome::crashed;
  EXPECT_TRUE(batch_signs({&crashed, 1}).empty());
}

}  // namespace
}  // namespace sweetspot::advise
