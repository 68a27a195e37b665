// Killed at any moment, a writer leaves an intact database with every acknowledged trial.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>

#include "core/error.h"
#include "faults/victim.h"
#include "integrity.h"
#include "store/store.h"
#include "store/support.h"
#include "temporary_folder.h"

namespace sweetspot::tests {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// Each trial complete, in order, as last saved, and no acknowledged one missing: a trial is saved
// again together with the next one.
void expect_all_there(const std::filesystem::path& file, const LastWords& words) {
  ASSERT_EQ(integrity(file), "ok");
  if (words.study == 0) return;
  const auto study = store::open_store(file.string())->study(words.study);
  ASSERT_TRUE(study);
  EXPECT_EQ(study->end, trial::End::stopped);
  ASSERT_GE(static_cast<std::int64_t>(study->trials.size()), words.trials);
  for (std::size_t i = 0; i < study->trials.size(); ++i) {
    const trial::Trial& trial = study->trials[i];
    ASSERT_EQ(trial.setting.batch, static_cast<std::int64_t>(i + 1));
    ASSERT_EQ(static_cast<std::int64_t>(trial.raw.size()), trial.steps);
    ASSERT_EQ(trial.raw.front().round, 1);
    ASSERT_EQ(trial.raw.back().round, i + 1 < study->trials.size() ? 2 : 1);
  }
  if (study->trials.empty()) return;
  const auto trials = static_cast<long long>(study->trials.size());
  EXPECT_THAT(std::stoll(study->answer), AnyOf(trials - 1, trials));
}

// 200 moments of a writer's life. A database is used for 20 of them: creating it is one of the
// things that are interrupted, and so are resuming a large one and checkpointing its log.
TEST(Killed, AtAnyMomentNothingIsLost) {
  constexpr int moments = 200, moments_of_a_database = 20;
  constexpr unsigned most_trials = 12, longest_us = 20000;
  std::mt19937 random(1000);
  for (int done = 0; done < moments;) {
    const TemporaryFolder folder;
    const auto file = folder / "a.db";
    LastWords last;
    for (int i = 0; i < moments_of_a_database; ++i, ++done) {
      SCOPED_TRACE(testing::Message() << "moment " << done);
      Victim victim(file, static_cast<unsigned>(done) + 1);
      // Two of three die during their trials, the others during start-up.
      if (done % 3) victim.wait_for_lines(2 + random() % most_trials);
      const LastWords words = victim.kill_after(std::chrono::microseconds(random() % longest_us));
      ASSERT_TRUE(words.killed) << words.failure;
      last.study = std::max(last.study, words.study);
      last.trials = std::max(last.trials, words.trials);
      expect_all_there(file, last);
      if (HasFatalFailure()) return;
    }
    const auto writer = store::open_store(file.string())
                            ->open_study({"fake", "question"}, {"program", "machine", "{}"}, false);
    EXPECT_EQ(writer->study().id, last.study);
    EXPECT_GE(static_cast<std::int64_t>(writer->study().trials.size()), last.trials);
  }
}

TEST(Killed, AnotherProcessIsRefusedUntilThen) {
  const TemporaryFolder folder;
  const auto file = folder / "a.db";
  Victim first(file, 1);
  first.wait_for("trial 2");
  const LastWords second = Victim(file, 2).wait();
  EXPECT_EQ(second.study, 0);
  EXPECT_THAT(second.failure, HasSubstr("(pid " + std::to_string(first.pid()) + ")"));
  const auto store = store::open_store(file.string());
  EXPECT_THROW(store->remove(1), core::MachineError);
  EXPECT_EQ(store->studies().at(0).end, trial::End::running);
  first.kill_after(std::chrono::microseconds(0));
  EXPECT_EQ(store->studies().at(0).end, trial::End::stopped);
  EXPECT_TRUE(store->remove(1));
}

TEST(Killed, ARunningStudyBlocksNoOther) {
  const TemporaryFolder folder;
  const auto file = folder / "a.db";
  Victim first(file, 1);
  first.wait_for("trial 2");
  const auto other = store::open_store(file.string())
                         ->open_study({"fake", "another question"}, {"", "", "{}"}, false);
  for (int i = 0; i < 20; ++i) add(*other, {});
  EXPECT_EQ(store::open_store(file.string())->study(other->study().id)->trials.size(), 20u);
}

// Every process finds the file missing, and all of them create it. 0: they hold it, and do not
// write.
TEST(Killed, ManyMakeTheDatabaseAtOnce) {
  for (int round = 0; round < 10; ++round) {
    const TemporaryFolder folder;
    std::vector<std::unique_ptr<Victim>> victims(8);
    for (auto& victim : victims) victim = std::make_unique<Victim>(folder / "a.db", 0);
    int opened = 0;
    for (const auto& victim : victims) try {
        victim->wait_for("opened");
        ++opened;
      } catch (const std::runtime_error& ended) {
        EXPECT_THAT(ended.what(), HasSubstr("(pid "));
      }
    EXPECT_EQ(opened, 1);
  }
}

}  // namespace
}  // namespace sweetspot::tests
