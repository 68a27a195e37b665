#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sweetspot/tune.h>

#include <new>
#include <stdexcept>
#include <thread>

#include "temporary_folder.h"
#include "words.h"

namespace sweetspot {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using tests::TemporaryFolder;

// Trials as short as possible: these tests are about behaviour, not speed.
Options quick() {
  Options options;
  options.name = "test";
  options.max = 64;
  options.precision = 0.5;
  options.repeats = 1;
  options.trial_time = Seconds(0.02);
  return options;
}

// Takes time that grows with the batch, so that there is something to measure.
void work(int batch, int steps) {
  volatile double sum = 0;
  for (int i = 0; i < steps * (200 + batch); ++i) sum = sum + i;
}

std::string message_of(const Options& options) {
  try {
    tune(options, work);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Tune, AnswersWithNumbersAndReasons) {
  const Result result = tune(quick(), work);
  ASSERT_EQ(result.status, Status::found) << result.message;
  ASSERT_TRUE(result.batch);
  EXPECT_GE(*result.batch, 1);
  EXPECT_LE(*result.batch, 64);
  ASSERT_TRUE(result.samples_per_second);
  EXPECT_GT(result.samples_per_second->low, 0);
  EXPECT_LE(result.samples_per_second->low, result.samples_per_second->mean);
  EXPECT_GE(result.samples_per_second->high, result.samples_per_second->mean);
  EXPECT_GT(result.throughput_share, 0);
  EXPECT_LE(result.throughput_share, 1);
  EXPECT_THAT(result.sentence, HasSubstr("Train with batch"));
  EXPECT_THAT(result.reasons, Not(IsEmpty()));
  EXPECT_THAT(result.table, HasSubstr("| batch |"));
  EXPECT_THAT(result.json, AllOf(HasSubstr("{\"schema_version\":2,"), HasSubstr("\"found\"")));
  ASSERT_THAT(result.trials, Not(IsEmpty()));
  for (const Trial& trial : result.trials) {
    EXPECT_EQ(trial.outcome, Outcome::ok) << trial.note;
    EXPECT_GT(trial.samples_per_second->mean, 0);
    EXPECT_GT(trial.step_time->count(), 0);
    EXPECT_GT(trial.memory_bytes.value_or(0), 0u) << "the memory of a process can be known";
  }
}

TEST(Tune, BatchesKeepToTheLimits) {
  Options options = quick();
  options.min = 10, options.max = 50, options.multiple_of = 6;
  const Result result = tune(options, [](int batch, int steps) {
    EXPECT_THAT(batch, AllOf(testing::Ge(12), testing::Le(48)));
    EXPECT_EQ(batch % 6, 0);
    EXPECT_GE(steps, 1);
    work(batch, steps);
  });
  EXPECT_EQ(result.status, Status::found);
}

TEST(Tune, WhatDoesNotFitIsLearntAndTheStudyGoesOn) {
  Options options = quick();
  options.objective = Objective::max_batch;
  const Result result = tune(options, [](int batch, int steps) {
    if (batch > 40) throw std::bad_alloc();
    work(batch, steps);
  });
  ASSERT_EQ(result.status, Status::found) << result.message;
  EXPECT_GE(*result.batch, 32);
  EXPECT_LE(*result.batch, 40);
  EXPECT_THAT(result.trials, Contains(Field(&Trial::outcome, Outcome::out_of_memory)));
}

TEST(Tune, MemoryIsPredictedFromWhatTheHookTells) {
  Options options = quick();
  options.max = 1024;
  options.memory_limit_bytes = 1000 + 10 * 300;
  int current = 0, largest = 0;
  Hooks hooks;
  hooks.prepare = [&](int batch) { current = batch, largest = std::max(largest, batch); };
  hooks.run = work;
  hooks.memory_bytes = [&] { return std::uint64_t{1000} + 10 * std::uint64_t(current); };
  const Result result = tune(options, hooks);
  ASSERT_EQ(result.status, Status::found) << result.message;
  EXPECT_LE(largest, 300) << "it was known not to fit";
  EXPECT_EQ(result.memory_bytes, 1000 + 10 * static_cast<std::uint64_t>(*result.batch));
}

TEST(Tune, NothingFeasibleIsAStatus) {
  const Result result = tune(quick(), [](int, int) { throw std::runtime_error("no such layer"); });
  EXPECT_EQ(result.status, Status::nothing_feasible);
  EXPECT_FALSE(result.batch);
  EXPECT_FALSE(result.samples_per_second);
  EXPECT_THAT(result.message, HasSubstr("no such layer"));
  EXPECT_THAT(result.trials, Each(Field(&Trial::outcome, Outcome::crashed)));
}

TEST(Tune, HooksComeInPairsHoweverATrialEnds) {
  int open = 0, most = 0;
  Hooks hooks;
  hooks.prepare = [&](int batch) {
    if (batch > 50) throw std::bad_alloc();
    most = std::max(most, ++open);
  };
  hooks.run = [](int batch, int steps) {
    if (batch > 20) throw 42;
    work(batch, steps);
  };
  hooks.finish = [&] { --open; };
  const Result result = tune(quick(), hooks);
  EXPECT_EQ(open, 0);
  EXPECT_EQ(most, 1);
  EXPECT_TRUE(result.batch);
}

TEST(Tune, WhatFinishThrowsIsTheCallers) {
  Hooks hooks;
  hooks.run = work;
  hooks.finish = [] { throw std::logic_error("double free"); };
  EXPECT_THROW(tune(quick(), hooks), std::logic_error);
  EXPECT_EQ(tune(quick(), work).status, Status::found) << "the next study is held up";
}

TEST(Tune, StopsInTheMiddleOfATrial) {
  Options options = quick();
  options.trial_time = Seconds(1000);
  options.precision = 1e-9;  // it would never finish
  std::stop_source source;
  options.stop = source.get_token();
  int calls = 0;
  const Result result = tune(options, [&](int batch, int steps) {
    work(batch, steps);
    if (++calls == 3) source.request_stop();
  });
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(result.status, Status::stopped);
  EXPECT_THAT(result.trials, IsEmpty());
}

TEST(Tune, AnotherThreadMayStopIt) {
  Options options = quick();
  options.trial_time = Seconds(1000);
  options.precision = 1e-9;
  std::stop_source source;
  options.stop = source.get_token();
  const Result result = tune(options, [&](int batch, int steps) {
    work(batch, steps);
    std::thread([&] { source.request_stop(); }).join();
  });
  EXPECT_EQ(result.status, Status::stopped);
}

TEST(Tune, TellsOfItsProgress) {
  Options options = quick();
  std::vector<Progress::State> states;
  std::vector<int> finished;
  options.progress = [&](const Progress& progress) {
    states.push_back(progress.state);
    EXPECT_EQ(progress.trial != nullptr, progress.state == Progress::State::finished);
    if (progress.trial) finished.push_back(progress.trial->batch);
  };
  const Result result = tune(options, work);
  ASSERT_THAT(states, Not(IsEmpty()));
  EXPECT_EQ(states.front(), Progress::State::started);
  EXPECT_EQ(states.back(), Progress::State::finished);
  ASSERT_THAT(finished, SizeIs(result.trials.size()));
  for (std::size_t i = 0; i < finished.size(); ++i) EXPECT_EQ(finished[i], result.trials[i].batch);
}

TEST(Tune, WhatProgressThrowsIsTheCallers) {
  Options options = quick();
  options.progress = [](const Progress&) { throw std::domain_error("no display"); };
  EXPECT_THROW(tune(options, work), std::domain_error);
}

TEST(Tune, OneStudyAtATime) {
  bool refused = false;
  tune(quick(), [&](int batch, int steps) {
    work(batch, steps);
    if (refused) return;
    EXPECT_THROW(tune(quick(), work), InputError);
    refused = true;
  });
  EXPECT_TRUE(refused);
}

TEST(Tune, AStoreKeepsTheStudyForTheNextTime) {
  TemporaryFolder folder;
  Options options = quick();
  options.store = folder / "trials.db";
  const Result first = tune(options, work);
  ASSERT_EQ(first.status, Status::found) << first.message;
  const sweetspot::Run never = [](int, int) { FAIL() << "it was measured again"; };
  const Result second = tune(options, never);
  EXPECT_EQ(second.batch, first.batch);
  EXPECT_EQ(second.resumed_trials, static_cast<int>(first.trials.size()));
  options.name = "another";
  EXPECT_EQ(tune(options, work).resumed_trials, 0);
  options.name = "test", options.fresh = true;
  EXPECT_EQ(tune(options, work).resumed_trials, 0);
}

TEST(Tune, NothingIsKeptUnlessAsked) {
  TemporaryFolder folder;
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  tune(quick(), work);
  std::filesystem::current_path(here);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Tune, AStoreThatCannotBeOpenedIsAnErrorOfTheLibrary) {
  TemporaryFolder folder;
  Options options = quick();
  options.store = folder / "no" / "such" / "folder.db";
  EXPECT_THROW(tune(options, work), Error);
  options.store = "mysql://somewhere";
  EXPECT_THROW(tune(options, work), InputError);
}

TEST(Tune, OptionsThatCannotBeUsedAreNamed) {
  const auto with = [](const auto& change) {
    Options options = quick();
    change(options);
    return message_of(options);
  };
  EXPECT_WORDS(with([](Options& o) { o.min = 0; }));
  EXPECT_WORDS(with([](Options& o) { o.max = -1; }));
  EXPECT_WORDS(with([](Options& o) { o.multiple_of = 0; }));
  EXPECT_WORDS(with([](Options& o) { o.min = 60, o.multiple_of = 64, o.max = 63; }));
  EXPECT_WORDS(with([](Options& o) { o.tolerance = 0; }));
  EXPECT_WORDS(with([](Options& o) { o.precision = 1; }));
  EXPECT_WORDS(with([](Options& o) { o.memory_share = 2; }));
  EXPECT_WORDS(with([](Options& o) { o.repeats = 0; }));
  EXPECT_WORDS(with([](Options& o) { o.trial_time = Seconds(0); }));
  EXPECT_WORDS(with([](Options& o) { o.budget = Seconds(-1); }));
  EXPECT_WORDS(with([](Options& o) { o.name = ""; }));
  EXPECT_THROW(tune(quick(), sweetspot::Run()), InputError);
}

}  // namespace
}  // namespace sweetspot
