#include "data/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "data/allocations.h"
#include "data/loader.h"
#include "data/sources.h"
#include "data/support.h"
#include "words.h"

namespace sweetspot::data {
namespace {

using testing::StartsWith;

// Each sample is identified by its label, which is its number.
Samples numbered(std::size_t count) {
  Samples samples;
  samples.count = count;
  samples.height = 4, samples.width = 3, samples.channels = 2;
  samples.bytes.resize(count * 24);
  for (std::size_t i = 0; i < samples.bytes.size(); ++i)
    samples.bytes[i] = static_cast<std::uint8_t>(i * 7919 >> 3);
  samples.labels.resize(count);
  std::iota(samples.labels.begin(), samples.labels.end(), 0);
  return samples;
}

PipelineOptions of_batch(std::int64_t batch) {
  PipelineOptions options;
  options.batch = batch;
  return options;
}

// Everything that an epoch delivers, in order.
struct Epoch {
  std::vector<std::int64_t> counts;
  std::vector<float> inputs, targets;
  std::vector<std::int32_t> labels;
  bool operator==(const Epoch&) const = default;
};

Epoch run_epoch(Pipeline& pipeline, std::uint32_t epoch) {
  Epoch all;
  pipeline.start_epoch(epoch);
  for (Batch batch; pipeline.next(batch);) {
    all.counts.push_back(batch.count);
    all.inputs.insert(all.inputs.end(), batch.inputs.begin(), batch.inputs.end());
    all.targets.insert(all.targets.end(), batch.targets.begin(), batch.targets.end());
    all.labels.insert(all.labels.end(), batch.labels.begin(), batch.labels.end());
  }
  return all;
}

Epoch run_epoch(const Samples& samples, const PipelineOptions& options, std::uint32_t epoch) {
  Pipeline pipeline(samples, options);
  return run_epoch(pipeline, epoch);
}

TEST(Pipeline, WithoutShuffleGivesTheSamplesAsTheyCome) {
  const Samples samples = numbered(10);
  PipelineOptions options = of_batch(4);
  options.shuffle = false;
  const Epoch epoch = run_epoch(samples, options, 0);
  EXPECT_EQ(epoch.counts, (std::vector<std::int64_t>{4, 4, 2}));
  EXPECT_EQ(epoch.labels, samples.labels);
  ASSERT_EQ(epoch.inputs.size(), samples.bytes.size());
  for (std::size_t i = 0; i < epoch.inputs.size(); ++i)
    EXPECT_EQ(epoch.inputs[i], static_cast<float>(samples.bytes[i]) * (1.0f / 255));
}

TEST(Pipeline, DropsThePartialBatchWhenAsked) {
  const Samples samples = numbered(10);
  PipelineOptions options = of_batch(4);
  EXPECT_EQ(Pipeline(samples, options).batches_per_epoch(), 3);
  options.drop_last = true;
  EXPECT_EQ(Pipeline(samples, options).batches_per_epoch(), 2);
  EXPECT_EQ(run_epoch(samples, options, 0).counts, (std::vector<std::int64_t>{4, 4}));
  options.batch = 5;
  EXPECT_EQ(run_epoch(samples, options, 0).counts, (std::vector<std::int64_t>{5, 5}));
}

TEST(Pipeline, ShuffledEpochsVisitEverySampleOnceWithItsOwnInputs) {
  const Samples samples = numbered(103);
  Epoch epoch = run_epoch(samples, of_batch(10), 5);
  for (std::size_t i = 0; i < epoch.labels.size(); ++i)
    for (std::size_t p = 0; p < 24; ++p) {
      const std::size_t sample = static_cast<std::size_t>(epoch.labels[i]);
      ASSERT_EQ(epoch.inputs[i * 24 + p],
                static_cast<float>(samples.bytes[sample * 24 + p]) * (1.0f / 255));
    }
  EXPECT_NE(epoch.labels, samples.labels);
  std::sort(epoch.labels.begin(), epoch.labels.end());
  EXPECT_EQ(epoch.labels, samples.labels);
}

TEST(Pipeline, TheOrderDependsOnSeedAndEpochAlone) {
  const Samples samples = numbered(50);
  PipelineOptions options = of_batch(7);
  Pipeline pipeline(samples, options);
  const Epoch first = run_epoch(pipeline, 1), second = run_epoch(pipeline, 2);
  EXPECT_NE(first.labels, second.labels);
  EXPECT_EQ(run_epoch(pipeline, 1), first);
  EXPECT_EQ(run_epoch(samples, of_batch(50), 1).labels, first.labels);
  options.seed = 1001;
  EXPECT_NE(run_epoch(samples, options, 1).labels, first.labels);
}

TEST(Pipeline, SameBatchesWhateverTheWorkersAndPrefetch) {
  const Samples images = numbered(61);
  SyntheticOptions made;
  made.height = made.width = 1, made.channels = 6;
  made.classes = 0, made.target_size = 3;
  made.train_count = 61, made.test_count = 1;
  const Samples regression = make_synthetic(made).train;
  for (const Samples* samples : {&images, &regression})
    for (const bool augment : {false, true}) {
      PipelineOptions options = of_batch(8);
      options.augment_shift = augment;
      options.workers = 0;
      const Epoch zero = run_epoch(*samples, options, 0), one = run_epoch(*samples, options, 1);
      for (const int workers : {0, 1, 2, 5})
        for (const int prefetch : {1, 2, 7})
          for (const bool cache : {false, true}) {
            options.workers = workers, options.prefetch = prefetch, options.cache = cache;
            Pipeline pipeline(*samples, options);
            EXPECT_EQ(run_epoch(pipeline, 0), zero);
            EXPECT_EQ(run_epoch(pipeline, 1), one);
            EXPECT_EQ(run_epoch(pipeline, 0), zero);
          }
    }
}

TEST(Pipeline, ShiftsAnewEachEpoch) {
  const Samples samples = numbered(20);
  PipelineOptions options = of_batch(20);
  options.shuffle = false;
  const Epoch plain = run_epoch(samples, options, 0);
  options.augment_shift = true;
  const Epoch zero = run_epoch(samples, options, 0), one = run_epoch(samples, options, 1);
  EXPECT_NE(zero.inputs, plain.inputs);
  EXPECT_NE(zero.inputs, one.inputs);
  EXPECT_EQ(zero.labels, plain.labels);
}

TEST(Pipeline, AnEpochCanBeAbandonedAtAnyBatch) {
  const Samples samples = numbered(40);
  for (const int workers : {0, 1, 3}) {
    PipelineOptions options = of_batch(4);
    options.workers = workers;
    const Epoch whole = run_epoch(samples, options, 9);
    Pipeline pipeline(samples, options);
    for (int taken = 0; taken <= 10; ++taken) {
      pipeline.start_epoch(1);
      Batch batch;
      for (int i = 0; i < taken; ++i) ASSERT_TRUE(pipeline.next(batch));
      EXPECT_EQ(run_epoch(pipeline, 9), whole);
    }
  }
}

TEST(Pipeline, GivesNothingBeforeTheFirstEpochAndAfterTheLastBatch) {
  const Samples samples = numbered(4);
  Pipeline pipeline(samples, of_batch(4));
  Batch batch;
  EXPECT_FALSE(pipeline.next(batch));
  pipeline.start_epoch(0);
  EXPECT_TRUE(pipeline.next(batch));
  EXPECT_FALSE(pipeline.next(batch));
  EXPECT_FALSE(pipeline.next(batch));
}

// Would take hours if the delay were not cut short.
TEST(Pipeline, EndsPromptlyWhileWorkersLoad) {
  const Samples samples = numbered(40);
  PipelineOptions options = of_batch(4);
  options.workers = 3;
  options.delay.duration = core::Seconds(3600);
  Pipeline pipeline(samples, options);
  pipeline.start_epoch(0);
  pipeline.start_epoch(1);
}

TEST(Pipeline, MeasuresTheWaitWithinNext) {
  const Samples samples = numbered(12);
  for (const int workers : {0, 2}) {
    PipelineOptions options = of_batch(4);
    options.workers = workers;
    options.delay.duration = core::Seconds(0.003);
    Pipeline pipeline(samples, options);
    for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
      pipeline.start_epoch(epoch);
      EXPECT_EQ(pipeline.waited().count(), 0);
      const auto begin = std::chrono::steady_clock::now();
      Batch batch;
      while (pipeline.next(batch)) {
      }
      const core::Seconds around = std::chrono::steady_clock::now() - begin;
      EXPECT_GT(pipeline.waited().count(), 0);
      EXPECT_LE(pipeline.waited(), around);
      if (workers == 0) {
        EXPECT_GE(pipeline.waited().count(), 3 * 0.003);
      }
    }
  }
}

TEST(Pipeline, TheBatchChangesInMidEpochAndTheOrderDoesNot) {
  const Samples samples = numbered(50);
  for (const int workers : {0, 1, 3}) {
    PipelineOptions options = of_batch(16);
    options.workers = workers, options.prefetch = 3;
    const std::vector<std::int32_t> order = run_epoch(samples, options, 5).labels;
    Pipeline pipeline(samples, options);
    pipeline.set_batch(3);
    pipeline.start_epoch(5);
    std::vector<std::int64_t> counts;
    std::vector<std::int32_t> labels;
    for (Batch batch; pipeline.next(batch);) {
      counts.push_back(batch.count);
      labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
      if (labels.size() == 6) pipeline.set_batch(16);
      if (labels.size() == 22) pipeline.set_batch(5);
    }
    EXPECT_EQ(counts, (std::vector<std::int64_t>{3, 3, 16, 5, 5, 5, 5, 5, 3}));
    EXPECT_EQ(labels, order);
    pipeline.start_epoch(6);
    Batch batch;
    ASSERT_TRUE(pipeline.next(batch));
    EXPECT_EQ(batch.count, 5) << "it stays in the next epoch";
  }
}

TEST(Pipeline, DropLastCountsFromWhereTheBatchChanged) {
  const Samples samples = numbered(50);
  PipelineOptions options = of_batch(20);
  options.drop_last = true;
  Pipeline pipeline(samples, options);
  pipeline.set_batch(4);
  pipeline.start_epoch(0);
  Batch batch;
  ASSERT_TRUE(pipeline.next(batch));
  pipeline.set_batch(20);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pipeline.next(batch));
  EXPECT_FALSE(pipeline.next(batch)) << "6 are left";
}

TEST(Pipeline, SteadyStateAllocatesNothing) {
  const Samples samples = numbered(500);
  for (const int workers : {0, 2}) {
    PipelineOptions options = of_batch(7);
    options.workers = workers;
    options.cache = options.augment_shift = true;
    Pipeline pipeline(samples, options);
    Batch batch;
    pipeline.start_epoch(0);
    while (pipeline.next(batch)) {
    }
    const std::uint64_t before = allocation_count();
    for (std::uint32_t epoch = 1; epoch < 4; ++epoch) {
      pipeline.start_epoch(epoch);
      while (pipeline.next(batch)) {
      }
    }
    EXPECT_EQ(allocation_count(), before);
  }
}

std::string refusal(const Samples& samples, const PipelineOptions& options) {
  return failure_of([&] { Pipeline pipeline(samples, options); });
}

TEST(Pipeline, RefusesWhatCannotBeFed) {
  const Samples samples = numbered(10);
  for (const std::int64_t batch : {std::int64_t{0}, std::int64_t{-5}})
    EXPECT_THAT(refusal(samples, of_batch(batch)),
                StartsWith("2: a batch of " + std::to_string(batch)));
  EXPECT_WORDS(refusal(samples, of_batch(11)));
  EXPECT_EQ(refusal(samples, of_batch(10)), "no failure");
  PipelineOptions options = of_batch(1);
  for (const int workers : {-1, 65}) {
    options.workers = workers;
    EXPECT_WORDS(refusal(samples, options));
  }
  options = of_batch(1);
  options.prefetch = 0;
  EXPECT_WORDS(refusal(samples, options));
  options = of_batch(1);
  options.delay.duration = core::Seconds(std::nan(""));
  EXPECT_WORDS(refusal(samples, options));
  EXPECT_WORDS(refusal(Samples{}, of_batch(1)));
}

TEST(Pipeline, RefusesSamplesThatAreNotThere) {
  Samples samples = numbered(10);
  samples.labels.pop_back();
  EXPECT_WORDS(refusal(samples, of_batch(1)));
  samples = numbered(10);
  samples.bytes.pop_back();
  EXPECT_WORDS(refusal(samples, of_batch(1)));
}

TEST(Order, IsAPermutationAndFair) {
  std::vector<int> first(5);
  std::vector<std::uint32_t> order(5);
  for (std::uint32_t epoch = 0; epoch < 5000; ++epoch) {
    shuffle(order, 1000, epoch);
    ++first[order[0]];
    std::vector<std::uint32_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
  }
  for (const int times : first) EXPECT_NEAR(times, 1000, 150);  // five standard deviations
}

// All labels of an epoch in the order they come, batch by batch.
std::vector<std::vector<std::int32_t>> epoch_of(const Samples& samples, const PipelineOptions& o) {
  Pipeline pipeline(samples, o);
  pipeline.start_epoch(2);
  std::vector<std::vector<std::int32_t>> batches;
  for (Batch batch; pipeline.next(batch);) {
    batches.emplace_back(batch.labels.begin(), batch.labels.end());
    EXPECT_EQ(batch.count, static_cast<std::int64_t>(batch.labels.size()));
  }
  return batches;
}

TEST(SharedPipelines, RanksHaveEachTheirPartOfEveryBatch) {
  const Samples samples = numbered(103);  // the last batch has 3 samples, for 4 ranks
  PipelineOptions options;
  options.batch = 20;
  const auto whole = epoch_of(samples, options);
  std::vector<std::vector<std::int32_t>> together(whole.size());
  for (int rank = 0; rank < 4; ++rank) {
    options.share = {rank, 4, false};
    const auto parts = epoch_of(samples, options);
    ASSERT_EQ(parts.size(), whole.size()) << "each rank takes part in each batch";
    for (std::size_t i = 0; i < parts.size(); ++i) {
      EXPECT_LE(parts[i].size(), 5u);
      together[i].insert(together[i].end(), parts[i].begin(), parts[i].end());
    }
  }
  EXPECT_EQ(together, whole);
}

TEST(SharedPipelines, AsynchronousRanksHaveBatchesInTurn) {
  const Samples samples = numbered(103);
  PipelineOptions options;
  options.batch = 20;
  const auto whole = epoch_of(samples, options);
  for (int rank = 0; rank < 4; ++rank) {
    options.share = {rank, 4, true};
    const auto own = epoch_of(samples, options);
    std::vector<std::vector<std::int32_t>> expected;
    for (std::size_t i = static_cast<std::size_t>(rank); i < whole.size(); i += 4)
      expected.push_back(whole[i]);
    EXPECT_EQ(own, expected);
  }
}

}  // namespace
}  // namespace sweetspot::data
