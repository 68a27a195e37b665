// The contract of every store, over all implementations.
#include "store/contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>

#include "core/error.h"
#include "store/support.h"

namespace sweetspot::tests {
namespace {

using testing::ElementsAre;
using trial::End;

std::vector<std::int64_t> batches(const trial::Study& study) {
  std::vector<std::int64_t> found;
  for (const trial::Trial& trial : study.trials) found.push_back(trial.setting.batch);
  return found;
}

TEST_P(StoreContract, WhatIsAddedIsReadBackByAnother) {
  const auto writer = open()->open_study(study_key(), environment(), false);
  add(*writer, full_trial());
  const auto study = open()->study(writer->study().id);
  ASSERT_TRUE(study);
  EXPECT_EQ(study->study_key.workload, study_key().workload);
  EXPECT_EQ(study->study_key.json, study_key().json);
  EXPECT_EQ(study->environment.program, environment().program);
  EXPECT_EQ(study->environment.machine, environment().machine);
  EXPECT_EQ(study->environment.json, environment().json);
  EXPECT_GT(study->started_at, 1.7e9);
  ASSERT_EQ(study->trials.size(), 1u);
  expect_equal(study->trials[0], full_trial());
  EXPECT_GT(study->trials[0].id, 0);
}

TEST_P(StoreContract, WhatIsBeingRunIsSaidUntilItIsSavedOrTheRunEnds) {
  auto writer = open()->open_study(study_key(), environment(), false);
  const auto running = [&] { return open()->studies().at(0).running; };
  EXPECT_FALSE(running());
  const auto follower = open()->follow();
  follower->changed();
  writer->set_running(256);
  EXPECT_TRUE(follower->changed());
  ASSERT_TRUE(running());
  EXPECT_EQ(running()->batch, 256);
  EXPECT_GT(running()->started_at, 1.7e9);
  add(*writer, full_trial());
  EXPECT_FALSE(running());
  writer->set_running(512);
  writer->set_end(End::stopped);
  EXPECT_FALSE(running());
  writer->set_end(End::running);
  writer->set_running(1024);
  writer.reset();  // killed: it sets no state
  EXPECT_FALSE(running());
}

TEST_P(StoreContract, UnknownStaysUnknown) {
  const auto writer = open()->open_study(study_key(), environment(), false);
  trial::Trial trial;
  trial.outcome = trial::Outcome::out_of_memory;
  add(*writer, trial);
  const trial::Study study = open()->study(writer->study().id).value();
  expect_equal(study.trials.at(0), trial);
}

TEST_P(StoreContract, NumbersThatAreNoneDoNotBecomeZero) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const auto writer = open()->open_study(study_key(), environment(), false);
  trial::Trial trial = full_trial();
  trial.samples_per_second = {1, -infinity, infinity};
  trial.seconds = nan;
  trial.memory_predicted = std::numeric_limits<core::Bytes>::max();
  add(*writer, trial);
  const trial::Trial read = open()->study(writer->study().id)->trials.at(0);
  EXPECT_EQ(read.samples_per_second->low, -infinity);
  EXPECT_EQ(read.samples_per_second->high, infinity);
  EXPECT_TRUE(std::isnan(read.seconds));
  EXPECT_EQ(read.memory_predicted, trial.memory_predicted);
}

TEST_P(StoreContract, TextThatIsNotValidIsMadeSo) {
  const auto writer = open()->open_study(study_key(), environment(), false);
  trial::Trial trial = trial_of(1);
  trial.note = std::string("a\0b", 3) + "\xff\xfe „c“\n\t\x1b[0m";
  add(*writer, trial);
  EXPECT_EQ(open()->study(writer->study().id)->trials.at(0).note,
            std::string("a\0b", 3) + "\uFFFD\uFFFD „c“\n\t\x1b[0m");
}

TEST_P(StoreContract, EachTrialHasItsOwnEpochsAndTrace) {
  const auto writer = open()->open_study(study_key(), environment(), false);
  const auto other = open()->open_study(study_key("other"), environment(), false);
  trial::Trial one = trial_of(1), two = trial_of(2), none = trial_of(3);
  one.epochs = {{1, 0.5, 2.0, {}, {}, 0.5}, {2, 0.25, 1.0, {}, {}, 0.75}};
  two.epochs = {{1, 4, {}, {}, {}, {}}};
  two.trace = {{1, 0.5, 7, 8}};
  for (const trial::Trial& trial : {one, none, two}) add(*writer, trial);
  add(*other, full_trial());
  const trial::Study study = open()->study(writer->study().id).value();
  expect_equal(study.trials.at(0), one);
  expect_equal(study.trials.at(1), none);
  expect_equal(study.trials.at(2), two);
}

TEST_P(StoreContract, ATrialThatIsSavedAgainReplacesItself) {
  const auto writer = open()->open_study(study_key(), environment(), false);
  std::vector<trial::Trial> trials{full_trial(), trial_of(8)};
  writer->save(trials);
  const std::int64_t first = trials[0].id, second = trials[1].id;
  EXPECT_GT(first, 0);
  EXPECT_GT(second, first);
  trials[0] = trial_of(16, 5);  // no epochs and no trace: the old ones are gone
  trials[0].id = first;
  trials[1].raw.push_back({0.5, 80, 10, {}, false, false, 2});
  trials[1].epochs = {{1, 0.5, {}, {}, {}, {}}};
  trials.push_back(trial_of(32));
  writer->save(trials);
  EXPECT_EQ(trials[0].id, first);
  EXPECT_EQ(trials[1].id, second);
  const trial::Study study = open()->study(writer->study().id).value();
  ASSERT_EQ(study.trials.size(), 3u);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(study.trials[i].id, trials[i].id);
    expect_equal(study.trials[i], trials[i]);
  }
}

TEST_P(StoreContract, WhatIsSaidOfATrialCanBeAmendedAndItsDetailsStay) {
  const auto writer = open()->open_study(study_key(), environment(), false);
  trial::Trial trial = full_trial();
  writer->save({&trial, 1});
  trial::Trial said = trial;
  said.outcome = trial::Outcome::refused;
  said.note = "its batch was another one";
  said.samples_per_second.reset();
  trial::Trial expected = said;
  said.raw = {}, said.trace = {};
  writer->amend(said);
  expect_equal(open()->study(writer->study().id)->trials.at(0), expected);
}

TEST_P(StoreContract, AllTrialsAreSavedOrNone) {
  const auto writer = open()->open_study(study_key(), environment(), false);
  const auto other = open()->open_study(study_key("other"), environment(), false);
  const trial::Trial saved = add(*writer, trial_of(1)), others = add(*other, trial_of(2));
  for (const std::int64_t missing : {others.id, others.id + 1000}) {
    std::vector<trial::Trial> trials{saved, trial_of(3), trial_of(4)};
    trials[0].raw.clear();
    trials[2].id = missing;  // of another study, or of none
    EXPECT_THROW(writer->save(trials), core::Error);
    EXPECT_EQ(trials[1].id, 0);
    const trial::Study study = open()->study(writer->study().id).value();
    ASSERT_EQ(study.trials.size(), 1u);
    expect_equal(study.trials[0], saved);
  }
  expect_equal(open()->study(other->study().id)->trials.at(0), others);
  EXPECT_NO_THROW(writer->save({}));
}

TEST_P(StoreContract, AResumedStudyHasItsRawStepsAndGrowsOn) {
  const auto store = open();
  {
    const auto writer = store->open_study(study_key(), environment(), false);
    add(*writer, full_trial());
    add(*writer, trial_of(8));
  }
  const auto writer = store->open_study(study_key(), environment(), false);
  std::vector<trial::Trial> trials = writer->study().trials;
  ASSERT_EQ(trials.size(), 2u);
  expect_equal(trials[0], full_trial());
  expect_equal(trials[1], trial_of(8));
  trials[1].raw.push_back({0.5, 8, 1, {}, false, false, 1});
  writer->save(trials);
  const trial::Study study = store->study(writer->study().id).value();
  ASSERT_EQ(study.trials.size(), 2u);
  expect_equal(study.trials[1], trials[1]);
}

TEST_P(StoreContract, TheAnswerIsKept) {
  const std::string first = R"({"batch":64})", second = "{\"note\":\"“quoted”\"}";
  const auto store = open();
  auto writer = store->open_study(study_key(), environment(), false);
  const std::int64_t id = writer->study().id;
  EXPECT_EQ(writer->study().answer, "");
  EXPECT_EQ(store->study(id)->answer, "");
  for (const std::string& answer : {first, second}) {
    writer->set_answer(answer);
    EXPECT_EQ(writer->study().answer, answer);
    EXPECT_EQ(store->study(id)->answer, answer);
    EXPECT_EQ(store->studies().at(0).answer, answer);
  }
  writer.reset();
  EXPECT_EQ(store->open_study(study_key(), environment(), false)->study().answer, second);
  EXPECT_EQ(store->open_study(study_key(), environment(), true)->study().answer, "");
}

TEST_P(StoreContract, TheSameQuestionResumesTheSameStudy) {
  const auto store = open();
  std::int64_t id = 0;
  {
    const auto writer = store->open_study(study_key(), environment(), false);
    id = writer->study().id;
    EXPECT_TRUE(writer->study().trials.empty());
    add(*writer, trial_of(8));
    add(*writer, trial_of(16));
  }
  const auto writer = store->open_study(study_key(), environment("sweetspot 0.2.0"), false);
  EXPECT_EQ(writer->study().id, id);
  EXPECT_EQ(writer->study().end, End::running);
  EXPECT_THAT(batches(writer->study()), ElementsAre(8, 16));
  EXPECT_EQ(store->study(id)->environment.program, "sweetspot 0.2.0");
}

TEST_P(StoreContract, AnotherQuestionIsAnotherStudy) {
  const auto store = open();
  const auto one = store->open_study(study_key("1"), environment(), false);
  const auto two = store->open_study(study_key("2"), environment(), false);
  add(*one, trial_of(1));
  add(*two, trial_of(2));
  EXPECT_NE(one->study().id, two->study().id);
  EXPECT_THAT(batches(*store->study(one->study().id)), ElementsAre(1));
  EXPECT_THAT(batches(*store->study(two->study().id)), ElementsAre(2));
}

TEST_P(StoreContract, FreshKeepsTheOldAndIsResumedFromThenOn) {
  const auto store = open();
  add(*store->open_study(study_key(), environment(), false), trial_of(1));
  add(*store->open_study(study_key(), environment(), true), trial_of(2));
  const auto studies = store->studies();
  ASSERT_EQ(studies.size(), 2u);
  EXPECT_THAT(batches(studies[0]), ElementsAre(2));
  EXPECT_THAT(batches(studies[1]), ElementsAre(1));
  EXPECT_THAT(batches(store->open_study(study_key(), environment(), false)->study()),
              ElementsAre(2));
}

TEST_P(StoreContract, StudiesComeNewestFirstWithoutRawStepsAndTraces) {
  const auto store = open();
  for (const char* key : {"1", "2", "3"})
    add(*store->open_study(study_key(key), environment(), false), full_trial());
  const auto studies = store->studies();
  ASSERT_EQ(studies.size(), 3u);
  EXPECT_EQ(studies[0].study_key.json, "3");
  EXPECT_EQ(studies[2].study_key.json, "1");
  trial::Trial summary = full_trial();
  summary.raw.clear();
  summary.trace.clear();
  expect_equal(studies[0].trials.at(0), summary);
}

TEST_P(StoreContract, StatesAreKept) {
  const auto store = open();
  const auto state = [&] { return store->studies().at(0).end; };
  auto writer = store->open_study(study_key(), environment(), false);
  EXPECT_EQ(state(), End::running);
  writer->set_end(End::finished);
  writer.reset();
  EXPECT_EQ(state(), End::finished);
  writer = store->open_study(study_key(), environment(), false);
  EXPECT_EQ(state(), End::running);
  writer->set_end(End::stopped);
  EXPECT_EQ(writer->study().end, End::stopped);
  EXPECT_EQ(state(), End::stopped);
}

TEST_P(StoreContract, AStudyWhoseWriterEndedWithoutAWordIsNotRunning) {
  const auto store = open();
  store->open_study(study_key(), environment(), false).reset();
  EXPECT_EQ(store->studies().at(0).end, End::stopped);
}

TEST_P(StoreContract, ASecondWriterIsRefusedWithThePid) {
  const auto writer = open()->open_study(study_key(), environment(), false);
  try {
    open()->open_study(study_key(), environment(), false);
    FAIL() << "two writers";
  } catch (const core::MachineError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("pid " + std::to_string(getpid())));
  }
  EXPECT_NO_THROW(open()->open_study(study_key(), environment(), true));
  EXPECT_NO_THROW(add(*writer, trial_of(1)));
}

TEST_P(StoreContract, RemovedIsGoneAndItsNumberIsNotUsedAgain) {
  const auto store = open();
  auto writer = store->open_study(study_key(), environment(), false);
  const std::int64_t id = writer->study().id;
  add(*writer, full_trial());
  EXPECT_THROW(store->remove(id), core::MachineError) << "it is being written";
  writer.reset();
  EXPECT_TRUE(store->remove(id));
  EXPECT_FALSE(store->remove(id));
  EXPECT_FALSE(store->study(id));
  EXPECT_TRUE(store->studies().empty());
  EXPECT_GT(store->open_study(study_key(), environment(), false)->study().id, id);
}

TEST_P(StoreContract, ReadingMakesNothing) {
  const auto store = open();
  EXPECT_TRUE(store->studies().empty());
  EXPECT_FALSE(store->study(1));
  EXPECT_FALSE(store->remove(1));
  EXPECT_TRUE(place_->is_untouched());
}

TEST_P(StoreContract, ManyReadWhileTwoStudiesAreWritten) {
  constexpr int trials = 40;
  const auto write = [&](const char* key) {
    const auto writer = open()->open_study(study_key(key), environment(), false);
    for (int batch = 1; batch <= trials; ++batch) add(*writer, trial_of(batch, 50));
  };
  open()->open_study(study_key("1"), environment(), false);
  std::thread one(write, "1"), two(write, "2");
  std::size_t seen = 0;
  while (seen < 2 * trials) {
    std::size_t now = 0;
    for (const trial::Study& study : open()->studies()) now += study.trials.size();
    EXPECT_GE(now, seen) << "a trial went away";
    seen = now;
  }
  one.join(), two.join();
}

TEST_P(StoreContract, OneTrialIsReadWithAllItHas) {
  EXPECT_FALSE(open()->trial(1));
  const auto other = open()->open_study(study_key("other"), environment(), false);
  add(*other, trial_of(1));
  const auto writer = open()->open_study(study_key(), environment(), false);
  add(*writer, trial_of(2));
  add(*writer, full_trial());
  const std::int64_t id = open()->study(writer->study().id)->trials.at(1).id;
  const auto trial = open()->trial(id);
  ASSERT_TRUE(trial);
  EXPECT_EQ(trial->id, id);
  expect_equal(*trial, full_trial());
  EXPECT_FALSE(open()->trial(id + 1));
}

// Whether the follower reports it, once.
void expect_heard(store::Follower& follower, const char* of) {
  EXPECT_TRUE(follower.changed()) << of;
  EXPECT_FALSE(follower.changed()) << of;
}

TEST_P(StoreContract, AFollowerHearsOfEveryChangeOnce) {
  const auto store = open();
  const auto follower = open()->follow();
  expect_heard(*follower, "nothing yet");
  EXPECT_TRUE(place_->is_untouched());
  auto writer = store->open_study(study_key(), environment(), false);
  expect_heard(*follower, "a study");
  add(*writer, trial_of(1));
  expect_heard(*follower, "a trial");
  writer->set_answer("{}");
  expect_heard(*follower, "its answer");
  EXPECT_EQ(open()->studies().at(0).answer, "{}");
  writer->set_end(End::stopped);
  expect_heard(*follower, "its state");
  open()->studies();
  EXPECT_FALSE(follower->changed()) << "a reader";
  const std::int64_t id = writer->study().id;
  writer.reset();
  writer = store->open_study(study_key(), environment(), false);
  expect_heard(*follower, "a study that goes on");
  writer.reset();  // silently, like a killed process
  expect_heard(*follower, "a writer that went");
  EXPECT_EQ(store->study(id)->end, End::stopped);
  store->remove(id);
  expect_heard(*follower, "a study that was deleted");
}

}  // namespace
}  // namespace sweetspot::tests
