#include "workload/native/batch_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/buffer.h"
#include "core/error.h"
#include "data/pipeline.h"
#include "engine/cpu/cpu.h"
#include "temporary_folder.h"
#include "words.h"
#include "workload/native/feed.h"
#include "workload/native/memory.h"
#include "workload/native/train.h"
#include "workload/native/weights_file.h"

namespace sweetspot::workload::native {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_batch_schedule(text);
  } catch (const core::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(BatchSchedule, SaysTheBatchAfterSoManyEpochs) {
  const auto stages = parse_batch_schedule("64@0,256@1,1024@2.5");
  EXPECT_EQ(stages, (std::vector<BatchStage>{{64, 0}, {256, 1}, {1024, 2.5}}));
  EXPECT_EQ(text(stages), "64@0,256@1,1024@2.5");
  EXPECT_EQ(batch_after(stages, 0), 64);
  EXPECT_EQ(batch_after(stages, 0.999), 64);
  EXPECT_EQ(batch_after(stages, 1), 256);
  EXPECT_EQ(batch_after(stages, 2.4), 256);
  EXPECT_EQ(batch_after(stages, 100), 1024);
}

TEST(BatchSchedule, RefusesWhatIsNone) {
  EXPECT_WORDS(refusal("64@0,0@1"));
  EXPECT_WORDS(refusal("64@0,-4@1"));
  EXPECT_WORDS(refusal("64@0,32@0"));
  EXPECT_WORDS(refusal("64@0,256@2,128@1"));
  EXPECT_WORDS(refusal("64@1"));
  EXPECT_WORDS(refusal("64@0,256"));
  EXPECT_WORDS(refusal("64@0,"));
  EXPECT_WORDS(refusal("64@0,2x@1"));
  EXPECT_WORDS(refusal("64@0,256@-1"));
  EXPECT_WORDS(refusal("64@0,256@nan"));
}

// A run in which everything that depends on the batch depends on the schedule.
Options tiny(const std::string& schedule, int epochs) {
  Options options;
  options.model = "mlp";
  options.data = "synthetic:300";
  options.epochs = epochs;
  options.schedule = parse_batch_schedule(schedule);
  options.pipeline.batch = 0;
  for (const BatchStage& stage : options.schedule)
    options.pipeline.batch = std::max(options.pipeline.batch, stage.batch);
  options.learning_rate_rule = convergence::LearningRateRule::none;
  return options;
}

Options constant(Options options, std::int64_t batch, int epochs) {
  options.schedule.clear();
  options.pipeline.batch = batch, options.epochs = epochs;
  return options;
}

Run opened(const Options& options) {
  return open(options, [](std::string_view) {});
}

Result train(const Options& options) {
  Observer quiet;
  const std::atomic<int> stop{0};
  return native::train(opened(options), quiet, stop);
}

std::vector<std::vector<float>> values(const std::vector<engine::Variable>& variables) {
  std::vector<std::vector<float>> all;
  for (const engine::Variable& variable : variables) all.push_back(variable.values);
  return all;
}

std::vector<std::vector<float>> saved(const Options& options) {
  const auto trainer = make_trainer(opened(options), options);
  return values(load_weights(*options.save, trainer->variables()));
}

// With everything that has a state: Adam, dropout, shuffling.
TEST(ScheduledTraining, IsTheSameAsThoseBatchesOneAfterTheOtherBitForBit) {
  const tests::TemporaryFolder folder;
  Options options = tiny("20@0,64@1,30@2.2", 3);
  options.model = "small-cnn";
  options.save = folder / "scheduled.safetensors";
  train(options);

  const native::Run run = opened(options);
  const auto trainer = make_trainer(run, options);
  const auto pass = [&](std::int64_t batch, std::uint32_t epoch, std::int64_t from,
                        std::int64_t samples) {
    data::PipelineOptions pipeline = options.pipeline;
    pipeline.batch = from == 0 ? batch : 1;  // to skip to where it continues
    data::Pipeline batches(run.dataset.train, pipeline);
    data::Batch got;
    batches.start_epoch(epoch);
    if (from == 0) {
      std::int64_t seen = 0;
      while (seen < samples && batches.next(got))
        trainer->step(view(got), batch), seen += got.count;
      return;
    }
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    for (std::int64_t i = 0; batches.next(got); ++i) {
      if (i < from) continue;
      inputs.insert(inputs.end(), got.inputs.begin(), got.inputs.end());
      labels.insert(labels.end(), got.labels.begin(), got.labels.end());
    }
    const auto size = static_cast<std::int64_t>(run.dataset.train.sample_size());
    const auto count = static_cast<std::int64_t>(labels.size());
    for (std::int64_t i = 0; i < count; i += batch)
      trainer->step({std::min(batch, count - i), inputs.data() + i * size, labels.data() + i},
                    batch);
  };
  pass(20, 0, 0, 300);
  pass(64, 1, 0, 300);
  pass(64, 2, 0, 64);  // 0.2 of 300 samples lie within its first batch
  pass(30, 2, 64, 300);
  EXPECT_EQ(values(trainer->variables()), saved(options));
}

// A chain of runs with --save and --load keeps weights, but neither optimizer state nor the epoch
// number, so it is exact for SGD on unshuffled samples.
TEST(ScheduledTraining, IsAChainOfRunsWhereRunsHaveNoState) {
  const tests::TemporaryFolder folder;
  Options options = tiny("10@0,25@2", 3);
  options.optimizer.kind = engine::Optimizer::Kind::sgd;
  options.optimizer.learning_rate = 0.01;
  options.pipeline.shuffle = false;
  options.save = folder / "scheduled.safetensors";
  train(options);
  Options first = constant(options, 10, 2), second = constant(options, 25, 1);
  first.save = second.load = folder / "first.safetensors";
  second.save = folder / "second.safetensors";
  train(first), train(second);
  EXPECT_EQ(saved(second), saved(options));
}

TEST(ScheduledTraining, TakesTheMemoryThatWasPredictedToTheByte) {
  for (const char* schedule : {"16@0,100@1", "100@0,7@1,50@2"}) {
    Options options = tiny(schedule, 3);
    options.accumulation = 1;
    const Result result = train(options);
    EXPECT_EQ(result.measured, result.predicted) << schedule;
  }
}

TEST(ScheduledTraining, TellsItsBatchesAndTheLearningRatesThatFollow) {
  Options options = tiny("16@0,64@1", 2);
  options.learning_rate_rule = std::nullopt;  // Adam's: the square root
  const Result result = train(options);
  ASSERT_EQ(result.batches.size(), 2u);
  EXPECT_EQ(result.batches[0].batch, 16);
  EXPECT_DOUBLE_EQ(result.batches[0].learning_rate, 0.001);
  EXPECT_EQ(result.batches[1].batch, 64);
  EXPECT_EQ(result.batches[1].from_epoch, 1);
  EXPECT_DOUBLE_EQ(result.batches[1].learning_rate, 0.002);
  EXPECT_EQ(result.epochs[0].steps, 19);  // 18 of 16 and one of 12
  EXPECT_EQ(result.epochs[1].steps, 5);
  EXPECT_EQ(result.epochs[1].batch, 64);
}

TEST(ScheduledTraining, RefusesWhatCannotBeTrained) {
  const auto why = [](Options options) -> std::string {
    try {
      opened(options);
    } catch (const core::InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_WORDS(why(tiny("16@0,400@1", 2)));
  EXPECT_WORDS(why(tiny("16@0,64@2", 2)));
  Options odd = tiny("16@0,63@1", 2);
  odd.accumulation = 2;
  EXPECT_WORDS(why(odd));
  Options gpu = tiny("16@0,64@1", 2);
  gpu.device.gpu = 0;
  EXPECT_WORDS(why(gpu));
}

}  // namespace
}  // namespace sweetspot::workload::native
