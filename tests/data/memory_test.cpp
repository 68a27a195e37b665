// A pipeline allocates exactly what is predicted.
#include <gtest/gtest.h>

#include "core/buffer.h"
#include "data/loader.h"
#include "data/pipeline.h"
#include "data/sources.h"

namespace sweetspot::data {
namespace {

Samples make(int classes, std::int64_t target_size) {
  SyntheticOptions options;
  options.height = 5, options.width = 3, options.channels = 1;
  options.classes = classes, options.target_size = target_size;
  options.train_count = 77, options.test_count = 1;
  return make_synthetic(options).train;
}

TEST(PipelineMemory, IsPredictedToTheByte) {
  for (const Samples& samples : {make(4, 1), make(0, 1), make(0, 9)})
    for (const std::int64_t batch : {1, 7, 64, 77})
      for (const int workers : {0, 1, 3})
        for (const int prefetch : {1, 4})
          for (const bool shuffle : {false, true})
            for (const bool cache : {false, true}) {
              PipelineOptions options;
              options.batch = batch, options.workers = workers, options.prefetch = prefetch;
              options.shuffle = shuffle, options.cache = cache;
              core::MemoryByUse expected = core::live_buffers();
              expected[core::Use::input] += pipeline_bytes(samples, options);
              Pipeline pipeline(samples, options);
              Batch last;
              pipeline.start_epoch(0);
              while (pipeline.next(last)) {
              }
              EXPECT_EQ(core::live_buffers(), expected);
            }
}

TEST(PipelineMemory, IsPredictedBeforeAnyDataAreLoaded) {
  const Samples loaded = make(4, 1);
  Samples known;
  known.count = loaded.count;
  known.height = loaded.height, known.width = loaded.width, known.channels = loaded.channels;
  EXPECT_EQ(pipeline_bytes(known, {}), pipeline_bytes(loaded, {}));
}

TEST(PipelineMemory, OfAbsurdBatchesDoesNotWrapRound) {
  PipelineOptions options;
  options.batch = std::int64_t{1} << 62;
  EXPECT_GE(pipeline_bytes(make(4, 1), options), core::Bytes{1} << 60);
}

TEST(PipelineMemory, CacheAndSlotsCostWhatTheyHold) {
  const Samples samples = make(4, 1);
  PipelineOptions options;
  options.batch = 64, options.workers = 1, options.prefetch = 1;
  const core::Bytes two_slots = pipeline_bytes(samples, options);
  options.prefetch = 2;
  EXPECT_EQ(pipeline_bytes(samples, options) - two_slots, 64u * 15 * 4 + 64 * 4);
  const core::Bytes uncached = pipeline_bytes(samples, options);
  options.cache = true;
  EXPECT_EQ(pipeline_bytes(samples, options) - uncached, 77u * 15 * 4 + 77);
}

TEST(LoadDelay, IsPaidOncePerSampleWithACache) {
  const Samples samples = make(4, 1);
  for (const bool cache : {false, true})
    for (const bool per_sample : {false, true}) {
      PipelineOptions options;
      options.batch = 10, options.cache = cache;
      options.delay = {core::Seconds(2), per_sample};
      Loader loader(samples, options);
      loader.start_epoch(0);
      std::vector<float> inputs(10 * 15);
      std::vector<std::int32_t> labels(10);
      const double whole = per_sample ? 20 : 2, last = per_sample ? 14 : 2;
      EXPECT_EQ(loader.delay(0).count(), whole);
      EXPECT_EQ(loader.delay(7).count(), last);  // of 7 samples
      loader.load(0, {inputs.data(), labels.data(), nullptr});
      EXPECT_EQ(loader.delay(0).count(), cache ? 0 : whole);
      EXPECT_EQ(loader.delay(1).count(), whole);
    }
}

}  // namespace
}  // namespace sweetspot::data
