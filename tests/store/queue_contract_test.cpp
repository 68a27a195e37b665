// The contract of every queue, over all implementations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>

#include "core/error.h"
#include "store/contract.h"
#include "store/support.h"

namespace sweetspot::tests {
namespace {

using store::Attempt;
using trial::End;

// Considers every other process lost immediately.
constexpr store::QueueTerms impatient{core::Seconds(-1000), 3};

std::vector<trial::Setting> settings_of(std::vector<std::int64_t> batches) {
  std::vector<trial::Setting> settings;
  for (const std::int64_t batch : batches) settings.push_back(trial_of(batch).setting);
  return settings;
}

// A trial at the claim's setting.
trial::Trial trial_at(const store::Claim& claim) {
  trial::Trial trial = full_trial();
  trial.setting = claim.setting;
  return trial;
}

std::unique_ptr<store::Queue> join(const std::shared_ptr<store::Store>& store,
                                   const store::QueueTerms& terms = {}) {
  return store->join_study(study_key(), environment(), terms);
}

TEST_P(QueueContract, EightWorkersTakeEachSettingOnce) {
  constexpr std::int64_t count = 24;
  std::vector<std::int64_t> batches;
  for (std::int64_t batch = 1; batch <= count; ++batch) batches.push_back(batch);
  const auto work = [&] {
    const auto queue = join(open());
    queue->plan(settings_of(batches));
    while (const auto claim = queue->claim()) {
      trial::Trial trial = trial_at(*claim);
      EXPECT_TRUE(queue->finish(*claim, trial));
      EXPECT_GT(trial.id, 0);
    }
  };
  std::vector<std::jthread> workers;
  for (int i = 0; i < 8; ++i) workers.emplace_back(work);
  workers.clear();
  const auto queue = join(open());
  const store::QueueCount counted = queue->count();
  EXPECT_EQ(counted.finished, count);
  EXPECT_EQ(counted.waiting + counted.running, 0);
  std::multiset<std::int64_t> done;
  for (const trial::Trial& trial : queue->writer().study().trials) done.insert(trial.setting.batch);
  EXPECT_THAT(std::vector(done.begin(), done.end()), testing::ElementsAreArray(batches));
  EXPECT_EQ(open()->attempts(queue->writer().study().id).size(), std::size_t{count});
}

TEST_P(QueueContract, SettingsComeBackAsTheyWere) {
  const auto queue = join(open());
  const trial::Setting setting = full_trial().setting;
  queue->plan({&setting, 1});
  const auto claim = queue->claim();
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->setting, setting);
  EXPECT_EQ(claim->number, 1);
  trial::Trial trial = full_trial();
  ASSERT_TRUE(queue->finish(*claim, trial));
  expect_equal(open()->trial(trial.id).value(), full_trial());
}

TEST_P(QueueContract, APlanThatIsSaidAgainAddsWhatIsMissing) {
  {
    const auto writer = open()->open_study(study_key(), environment(), false);
    add(*writer, trial_of(1));
  }
  const auto one = join(open()), two = join(open());
  one->plan(settings_of({1, 2, 1, 3}));
  two->plan(settings_of({1, 2, 1, 3}));
  EXPECT_EQ(one->count().waiting, 3) << "a batch of 1 was measured before";
  const auto claim = two->claim();
  ASSERT_TRUE(claim);
  trial::Trial trial = trial_at(*claim);
  EXPECT_TRUE(two->finish(*claim, trial));
  one->plan(settings_of({1, 2, 1, 3, 4}));
  EXPECT_EQ(one->count().waiting, 3);
  EXPECT_EQ(one->count().finished, 1);
}

TEST_P(QueueContract, ALostWorkersSettingIsTakenByAnother) {
  const auto lost = join(open()), other = join(open(), impatient), third = join(open());
  lost->plan(settings_of({1}));
  const auto first = lost->claim();
  ASSERT_TRUE(first);
  EXPECT_FALSE(third->claim()) << "it is not lost yet";
  EXPECT_TRUE(lost->beat(*first, 10));
  const auto second = other->claim();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->setting, first->setting);
  EXPECT_EQ(second->number, 2);
  EXPECT_FALSE(lost->beat(*first, 20));
  trial::Trial late = trial_at(*first), trial = trial_at(*second);
  EXPECT_FALSE(lost->finish(*first, late)) << "another has it";
  EXPECT_EQ(late.id, 0);
  lost->give_back(*first);
  EXPECT_TRUE(other->finish(*second, trial));
  EXPECT_FALSE(lost->finish(*first, late));
  const std::int64_t study = lost->writer().study().id;
  EXPECT_EQ(open()->study(study)->trials.size(), 1u);
  const std::vector<Attempt> history = open()->attempts(study);
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].ending, Attempt::Ending::lost);
  EXPECT_EQ(history[0].steps, 10);
  EXPECT_EQ(history[0].pid, getpid());
  EXPECT_GT(history[0].started_at, 1.7e9);
  EXPECT_EQ(history[1].ending, Attempt::Ending::finished);
  EXPECT_EQ(history[1].setting, first->setting);
}

TEST_P(QueueContract, WhatIsLostTooOftenIsKilledWithItsHistory) {
  const auto queue = join(open(), impatient);
  queue->plan(settings_of({1, 2}));
  for (int number = 1; number <= impatient.most_attempts; ++number) {
    const auto claim = join(open(), impatient)->claim();  // by a worker that is gone immediately
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->setting.batch, 1);
    EXPECT_EQ(claim->number, number);
  }
  const auto next = queue->claim();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->setting.batch, 2);
  const trial::Study study = open()->study(queue->writer().study().id).value();
  ASSERT_EQ(study.trials.size(), 1u);
  EXPECT_EQ(study.trials[0].setting.batch, 1);
  EXPECT_EQ(study.trials[0].outcome, trial::Outcome::killed);
  EXPECT_THAT(study.trials[0].note, testing::HasSubstr(std::to_string(impatient.most_attempts)));
  EXPECT_EQ(queue->count().finished, 1);
}

TEST_P(QueueContract, WhatIsGivenBackIsNotHeldAgainstIt) {
  const auto queue = join(open(), {core::Seconds(60), 1});
  queue->plan(settings_of({1}));
  for (int i = 0; i < 3; ++i) {
    const auto claim = queue->claim();
    ASSERT_TRUE(claim);
    EXPECT_EQ(claim->number, 1);
    EXPECT_EQ(queue->count().running, 1);
    queue->give_back(*claim);
    EXPECT_EQ(queue->count().waiting, 1);
  }
}

TEST_P(QueueContract, WhatWasGivenUpAndNotTakenYetCounts) {
  const auto slow = join(open()), other = join(open(), impatient);
  slow->plan(settings_of({1}));
  const auto first = slow->claim();
  ASSERT_TRUE(first);
  const auto second = other->claim();
  ASSERT_TRUE(second);
  other->give_back(*second);
  trial::Trial trial = trial_at(*first);
  EXPECT_TRUE(slow->finish(*first, trial));
  EXPECT_FALSE(other->claim());
  EXPECT_EQ(other->count().finished, 1);
}

TEST_P(QueueContract, AWriterAndAQueueExcludeEachOther) {
  auto one = join(open()), two = join(open());
  const std::int64_t id = one->writer().study().id;
  EXPECT_EQ(two->writer().study().id, id);
  EXPECT_THROW(open()->open_study(study_key(), environment(), false), core::MachineError);
  EXPECT_THROW(open()->remove(id), core::MachineError);
  one.reset();
  EXPECT_EQ(open()->studies().at(0).end, End::running) << "the other one goes on";
  two.reset();
  EXPECT_EQ(open()->studies().at(0).end, End::stopped);
  const auto writer = open()->open_study(study_key(), environment(), false);
  EXPECT_EQ(writer->study().id, id);
  EXPECT_THROW(join(open()), core::MachineError);
}

TEST_P(QueueContract, AFollowerHearsOfWhatIsFinished) {
  const auto queue = join(open());
  queue->plan(settings_of({1}));
  const auto claim = queue->claim();
  const auto follower = open()->follow();
  EXPECT_TRUE(follower->changed());
  EXPECT_FALSE(follower->changed());
  trial::Trial trial = trial_at(*claim);
  queue->finish(*claim, trial);
  EXPECT_TRUE(follower->changed());
}

TEST_P(QueueContract, ADeletedStudyTakesItsQueueAlong) {
  std::int64_t id = 0;
  {
    const auto queue = join(open());
    id = queue->writer().study().id;
    queue->plan(settings_of({1, 2}));
    const auto claim = queue->claim();
    trial::Trial trial = trial_at(*claim);
    queue->finish(*claim, trial);
  }
  EXPECT_TRUE(open()->remove(id));
  EXPECT_TRUE(open()->attempts(id).empty());
  const auto queue = join(open());
  EXPECT_FALSE(queue->claim());
}

}  // namespace
}  // namespace sweetspot::tests
