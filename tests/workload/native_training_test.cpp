#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "workload/native/training.h"

namespace sweetspot::workload::native {
namespace {

using trial::Outcome;
using trial::Setting;

std::unique_ptr<Training> tiny(const std::function<void(Options&)>& change = {}) {
  Options options;
  options.model = "mlp";
  options.data = "synthetic:100";
  options.pipeline.batch = 10;
  if (change) change(options);
  return make_training(open(options, [](std::string_view) {}));
}

struct Heard : TrainingObserver {
  std::vector<trial::Epoch> epochs;
  std::atomic<int>* stop_after_first = nullptr;
  void epoch(const trial::Epoch& epoch) override {
    epochs.push_back(epoch);
    if (stop_after_first) *stop_after_first = 1;
  }
};

std::vector<double> accuracies(Training& training, const Setting& setting, int epochs) {
  Heard heard;
  const std::atomic<int> stop{0};
  EXPECT_EQ(training.train(setting, epochs, heard, stop).outcome, Outcome::ok);
  std::vector<double> list;
  for (const trial::Epoch& epoch : heard.epochs) {
    EXPECT_GT(epoch.train_seconds, 0);
    list.push_back(epoch.test_loss.value());
  }
  return list;
}

TEST(NativeTraining, UsesEverySampleAndTellsEveryEpoch) {
  const auto training = tiny();
  Heard heard;
  const std::atomic<int> stop{0};
  const Trained trained = training->train({.batch = 30}, 2, heard, stop);
  EXPECT_EQ(trained.outcome, Outcome::ok);
  EXPECT_EQ(trained.steps, 2 * 4);  // 30 + 30 + 30 + 10
  EXPECT_EQ(trained.samples, 200);
  ASSERT_EQ(heard.epochs.size(), 2u);
  EXPECT_EQ(heard.epochs[1].epoch, 2);
  EXPECT_EQ(trained.memory_measured, training->predict({.batch = 30}));
  EXPECT_EQ(trained.memory_by_use.value().total(), trained.memory_measured);
}

TEST(NativeTraining, EveryTrialBeginsAnewAndTheSeedDecides) {
  const auto training = tiny();
  const auto first = accuracies(*training, {.batch = 20, .seed = 1}, 2);
  EXPECT_NE(accuracies(*training, {.batch = 20, .seed = 2}, 2), first);
  EXPECT_EQ(accuracies(*training, {.batch = 20, .seed = 1}, 2), first);
  // One run of many epochs has those of a shorter one in it.
  EXPECT_EQ(accuracies(*training, {.batch = 20, .seed = 1}, 1)[0], first[0]);
}

TEST(NativeTraining, EndsEarlyWhenToldTo) {
  const auto training = tiny();
  std::atomic<int> stop{0};
  Heard heard;
  heard.stop_after_first = &stop;
  EXPECT_EQ(training->train({.batch = 10}, 5, heard, stop).outcome, Outcome::cancelled);
  EXPECT_EQ(heard.epochs.size(), 1u);
}

TEST(NativeTraining, ALossThatIsNoNumberIsACrash) {
  const auto training =
      tiny([](Options& options) { options.optimizer.kind = engine::Optimizer::Kind::sgd; });
  Heard heard;
  const std::atomic<int> stop{0};
  const Trained trained = training->train({.batch = 10, .learning_rate = 1e30}, 3, heard, stop);
  EXPECT_EQ(trained.outcome, Outcome::crashed);
  EXPECT_THAT(trained.note, testing::HasSubstr("learning rate below 1e+30"));
}

TEST(NativeTraining, WhatTheEngineCannotRunIsTold) {
  const auto training = tiny();
  Heard heard;
  const std::atomic<int> stop{0};
  EXPECT_THROW(training->train({.batch = 10, .accumulation = 3}, 1, heard, stop), core::InputError);
}

}  // namespace
}  // namespace sweetspot::workload::native
