// Tasks of a scripted scheduler, and their trials.
#include "cluster/cluster_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cluster/task_results.h"
#include "store/store.h"
#include "temporary_folder.h"
#include "words.h"

namespace sweetspot::cluster {
namespace {

using trial::Outcome;

// What a task does at its setting: writes what a process on its node would have written.
// In `shared`, if there is one.
void play_task(const std::filesystem::path& folder, store::Store* shared, std::size_t number,
               const std::string& machine, bool finishes) {
  const tests::TemporaryFolder node;
  const auto file = node / "task.db";
  {
    const auto writer =
        store::open_store(file.string())
            ->open_study({"fake", "question of " + machine}, {"program", machine, "{}"}, false);
    trial::Trial trial;
    trial.setting = read_setting(folder, number);
    trial.raw = {{0.5, 8, 1, {}, false, false, 0}};
    if (finishes) writer->save({&trial, 1});
  }
  if (shared)
    leave_study(*shared, task_name(folder, number), *store::open_store(file.string())->study(1));
  else
    leave_store(folder, number, finishes ? Stage::finished : Stage::begun, file);
}

// Every job's tasks end as the script says for each attempt.
class FakeScheduler : public Scheduler {
 public:
  struct Try {
    Task::State state = Task::State::done;
    Outcome outcome = Outcome::ok;
    std::string machine = "a node";
    bool begins = true;
    bool stopped = false;  // by a signal
  };
  explicit FakeScheduler(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::string submit(std::span<const std::size_t> tasks) override {
    std::vector<Task>& job = jobs_.emplace_back();
    for (const std::size_t number : tasks) {
      std::vector<Try>& tries = script[number];
      Try now;
      if (!tries.empty()) now = tries.front(), tries.erase(tries.begin());
      if (now.begins)
        play_task(folder_, shared, number, now.machine, now.state == Task::State::done);
      leave_stopped(folder_, number, now.stopped);
      job.push_back({number, now.state, now.outcome, "as it was told"});
    }
    return std::to_string(jobs_.size());
  }
  std::vector<Task> tasks(const std::string& job) override { return jobs_.at(std::stoul(job) - 1); }
  void cancel(const std::string& job) override { cancelled.push_back(job); }

  std::map<std::size_t, std::vector<Try>> script;
  store::Store* shared = nullptr;
  std::vector<std::string> cancelled;
  std::size_t jobs() const { return jobs_.size(); }

 private:
  std::filesystem::path folder_;
  std::vector<std::vector<Task>> jobs_;
};

class ClusterRuns : public testing::Test {
 protected:
  ClusterEnd run(std::size_t count, int stop_value = 0) {
    std::vector<trial::Setting> settings(count);
    for (std::size_t i = 0; i < count; ++i)
      settings[i].batch = static_cast<std::int64_t>(8 * (i + 1)), settings[i].seed = 7 + i;
    const std::atomic<int> stop{stop_value};
    return run_on_cluster(
        {scheduler_, folder_.path(), core::Seconds(0.001), 3, scheduler_.shared}, settings,
        [&](const TaskTrial& trial) { taken_.push_back(trial); }, stop);
  }

  using Try = FakeScheduler::Try;
  tests::TemporaryFolder folder_;
  FakeScheduler scheduler_{folder_.path()};
  std::vector<TaskTrial> taken_;
};

TEST_F(ClusterRuns, EachTaskGivesItsTrialAndItsMachine) {
  scheduler_.script[1] = {{.machine = "another node"}};
  const ClusterEnd end = run(3);
  EXPECT_FALSE(end.stopped);
  EXPECT_EQ(end.cancelled, 0u);
  ASSERT_EQ(taken_.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(taken_[i].trial.setting.batch, static_cast<std::int64_t>(8 * (i + 1)));
    EXPECT_EQ(taken_[i].trial.setting.seed, 7 + i);
    EXPECT_EQ(taken_[i].trial.raw.size(), 1u);
    EXPECT_EQ(taken_[i].trial.id, 0) << "it is a new one to whoever keeps it";
    EXPECT_EQ(taken_[i].study->environment.machine, i == 1 ? "another node" : "a node");
  }
  EXPECT_NE(taken_[0].study->study_key.json, taken_[1].study->study_key.json);
  EXPECT_EQ(scheduler_.jobs(), 1u);
}

TEST_F(ClusterRuns, ATaskThatDiesBecomesItsOutcome) {
  scheduler_.script[0] = {{Task::State::failed, Outcome::out_of_memory}};
  scheduler_.script[1] = {{Task::State::failed, Outcome::timed_out, "a node", false}};
  run(3);
  ASSERT_EQ(taken_.size(), 3u);
  std::map<std::int64_t, const TaskTrial*> of;
  for (const TaskTrial& each : taken_) of[each.trial.setting.batch] = &each;
  EXPECT_EQ(of[8]->trial.outcome, Outcome::out_of_memory);
  EXPECT_EQ(of[8]->trial.note, "as it was told");
  EXPECT_EQ(of[8]->study->environment.machine, "a node") << "it had begun";
  EXPECT_EQ(of[16]->trial.outcome, Outcome::timed_out);
  EXPECT_FALSE(of[16]->study) << "it had not";
  EXPECT_EQ(of[24]->trial.outcome, Outcome::ok);
}

TEST_F(ClusterRuns, ATaskThatIsTakenOffItsNodeIsSubmittedAgain) {
  scheduler_.script[1] = {{.state = Task::State::lost}, {.state = Task::State::lost}, {}};
  run(2);
  EXPECT_EQ(scheduler_.jobs(), 3u);
  ASSERT_EQ(taken_.size(), 2u);
  EXPECT_EQ(taken_[1].trial.outcome, Outcome::ok);
}

// A program that ends at once when Slurm warns it has failed, to Slurm, before it is taken off.
TEST_F(ClusterRuns, SoIsOneThatStoppedByItselfWhenItWasTold) {
  const Try stopped{
      .state = Task::State::failed, .outcome = Outcome::crashed, .begins = true, .stopped = true};
  scheduler_.script[0] = {stopped, {}};
  scheduler_.script[1] = {stopped, stopped, stopped};
  run(2);
  ASSERT_EQ(taken_.size(), 2u);
  EXPECT_EQ(taken_[0].trial.outcome, Outcome::ok);
  EXPECT_EQ(taken_[1].trial.outcome, Outcome::killed);
}

TEST_F(ClusterRuns, AndKilledWhenThatHappensTooOften) {
  scheduler_.script[0] = std::vector<Try>(3, {.state = Task::State::lost});
  run(1);
  ASSERT_EQ(taken_.size(), 1u);
  EXPECT_EQ(taken_[0].trial.outcome, Outcome::killed);
  EXPECT_WORDS(taken_[0].trial.note);
}

TEST_F(ClusterRuns, WhatOthersCancelIsNoTrial) {
  scheduler_.script[0] = {{Task::State::failed, Outcome::cancelled}};
  EXPECT_EQ(run(2).cancelled, 1u);
  EXPECT_EQ(taken_.size(), 1u);
}

TEST_F(ClusterRuns, CtrlCCancelsTheJobAndKeepsWhatIsThere) {
  scheduler_.script[1] = {{.state = Task::State::running}};
  EXPECT_TRUE(run(2, 1).stopped);
  EXPECT_THAT(scheduler_.cancelled, testing::ElementsAre("1"));
  ASSERT_EQ(taken_.size(), 1u);
}

TEST_F(ClusterRuns, ATaskThatEndsWithoutATrialPointsToItsLog) {
  scheduler_.script[0] = {{.state = Task::State::failed, .outcome = Outcome::crashed}};
  run(1);
  ASSERT_EQ(taken_.size(), 1u);
  EXPECT_EQ(taken_[0].trial.outcome, Outcome::crashed);
  EXPECT_EQ(scheduler_.jobs(), 1u);
}

class SharedClusterRuns : public ClusterRuns {
 protected:
  SharedClusterRuns() { scheduler_.shared = store_.get(); }
  std::unique_ptr<store::Store> store_ = store::open_store((folder_ / "shared.db").string());
};

TEST_F(SharedClusterRuns, GiveTheSameThroughAStore) {
  scheduler_.script[0] = {{.state = Task::State::failed, .outcome = Outcome::out_of_memory}};
  scheduler_.script[1] = {{.state = Task::State::lost}, {.machine = "another node"}};
  run(3);
  ASSERT_EQ(taken_.size(), 3u);
  std::map<std::int64_t, const TaskTrial*> of;
  for (const TaskTrial& each : taken_) of[each.trial.setting.batch] = &each;
  EXPECT_EQ(of[8]->trial.outcome, Outcome::out_of_memory);
  EXPECT_EQ(of[8]->study->environment.machine, "a node") << "it had begun";
  for (const std::int64_t batch : {16, 24}) {
    const TaskTrial& found = *of[batch];
    EXPECT_EQ(found.trial.outcome, Outcome::ok);
    EXPECT_EQ(found.trial.id, 0);
    EXPECT_EQ(found.trial.raw.size(), 1u);
    EXPECT_EQ(found.study->study_key.workload, "fake");
  }
  EXPECT_EQ(of[16]->study->study_key.json, "question of another node");
  EXPECT_EQ(of[24]->study->study_key.json, "question of a node");
  EXPECT_TRUE(store_->studies().empty()) << "what was on its way has arrived";
}

TEST_F(SharedClusterRuns, TakeFilesOfATaskThatDoesNotReachTheStore) {
  scheduler_.shared = nullptr;
  const std::vector<trial::Setting> settings(1);
  const std::atomic<int> never{0};
  run_on_cluster(
      {scheduler_, folder_.path(), core::Seconds(0.001), 3, store_.get()}, settings,
      [&](const TaskTrial& trial) { taken_.push_back(trial); }, never);
  ASSERT_EQ(taken_.size(), 1u);
  EXPECT_EQ(taken_[0].trial.outcome, Outcome::ok);
}

}  // namespace
}  // namespace sweetspot::cluster
