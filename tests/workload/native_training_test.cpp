#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "words.h"
#include "workload/native/workload.h"

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
  EXPECT_EQ(training.train(setting, epochs, heard, {stop}).outcome, Outcome::ok);
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
  const Trained trained = training->train({.batch = 30}, 2, heard, {stop});
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
  // A run of many epochs contains those of a shorter one.
  EXPECT_EQ(accuracies(*training, {.batch = 20, .seed = 1}, 1)[0], first[0]);
}

TEST(NativeTraining, EndsEarlyWhenToldTo) {
  const auto training = tiny();
  std::atomic<int> stop{0};
  Heard heard;
  heard.stop_after_first = &stop;
  EXPECT_EQ(training->train({.batch = 10}, 5, heard, {stop}).outcome, Outcome::cancelled);
  EXPECT_EQ(heard.epochs.size(), 1u);
}

// Evaluates after every n samples.
struct Looking : Heard {
  std::int64_t every = 0, next = 0;
  std::vector<trial::Evaluation> found;
  std::size_t most = 1000;
  explicit Looking(std::int64_t its_every) : every(its_every), next(its_every) {}
  std::optional<std::int64_t> evaluate_after() override { return next; }
  bool evaluated(const trial::Evaluation& evaluation) override {
    found.push_back(evaluation);
    next = evaluation.samples + every;
    return found.size() < most;
  }
};

TEST(NativeTraining, EvaluatesBetweenEpochsWithoutChangingAnything) {
  const auto training = tiny();
  const auto plain = accuracies(*training, {.batch = 20}, 2);
  Looking looking(40);
  const std::atomic<int> stop{0};
  EXPECT_EQ(training->train({.batch = 20}, 2, looking, {stop}).outcome, Outcome::ok);
  std::vector<std::int64_t> samples;
  for (const trial::Evaluation& at : looking.found) samples.push_back(at.samples);
  EXPECT_THAT(samples, testing::ElementsAre(40, 80, 100, 140, 180, 200)) << "and after each epoch";
  EXPECT_EQ(looking.found[3].steps, 7);
  EXPECT_EQ(looking.found[2].test_loss, plain[0]);
  EXPECT_EQ(looking.found[5].test_loss, plain[1]);
  for (std::size_t i = 1; i < looking.found.size(); ++i)
    EXPECT_GT(looking.found[i].train_seconds, looking.found[i - 1].train_seconds);
  EXPECT_NEAR(looking.found.back().train_seconds,
              looking.epochs[0].train_seconds + looking.epochs[1].train_seconds, 1e-9)
      << "evaluations are not training";
}

TEST(NativeTraining, EndsInTheMiddleOfAnEpochWhenItIsEnough) {
  const auto training = tiny();
  Looking looking(30);
  looking.most = 2;
  const std::atomic<int> stop{0};
  const Trained trained = training->train({.batch = 10}, 5, looking, {stop});
  EXPECT_EQ(trained.outcome, Outcome::ok);
  EXPECT_EQ(trained.samples, 60);
  EXPECT_TRUE(looking.epochs.empty()) << "none was whole";
}

TEST(NativeTraining, ALossThatIsNoNumberIsACrash) {
  const auto training =
      tiny([](Options& options) { options.optimizer.kind = engine::Optimizer::Kind::sgd; });
  Heard heard;
  const std::atomic<int> stop{0};
  const Trained trained = training->train({.batch = 10, .learning_rate = 1e30}, 3, heard, {stop});
  EXPECT_EQ(trained.outcome, Outcome::crashed);
  EXPECT_WORDS(tests::without_numbers(trained.note));
}

TEST(NativeTraining, WhatTheEngineCannotRunIsTold) {
  const auto training = tiny();
  Heard heard;
  const std::atomic<int> stop{0};
  EXPECT_THROW(training->train({.batch = 10, .accumulation = 3}, 1, heard, {stop}),
               core::InputError);
}

}  // namespace
}  // namespace sweetspot::workload::native
