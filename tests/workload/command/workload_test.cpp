#include "workload/command/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "temporary_folder.h"
#include "words.h"
#include "workload/command/workload_support.h"

namespace sweetspot::workload::command {
namespace {

using namespace testing_support;
using testing::ElementsAre;
using testing::SizeIs;
using trial::Outcome;

TEST(Command, ReadsTheStepsOfABar) {
  const Options options = program("bar.py", {"{batch}"});
  CommandWorkload workload(options);
  const trial::Trial trial = measured(workload, at(32));
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(trial.step_source, "tqdm bar");
  ASSERT_TRUE(trial.samples_per_second);
  // A step sleeps for that long; on a busy machine lines are read late, some of them together.
  EXPECT_LT(trial.samples_per_second->mean, 2 * 32 / 0.002);
  EXPECT_GT(trial.start_up_seconds.value_or(0), 0);
  EXPECT_LT(*trial.start_up_seconds, trial.seconds);
  EXPECT_GT(trial.memory_measured.value_or(0), core::MiB);
  EXPECT_FALSE(trial.memory_source.empty());
  EXPECT_GT(trial.cpu_seconds.value_or(0), 0);
  EXPECT_EQ(processes_left(options), 0);
}

TEST(Command, ABarThatEndsByItselfCounts) {
  CommandWorkload workload(program("bar.py", {"{batch}", "200"}));
  const trial::Trial trial = measured(workload, at(32));
  EXPECT_EQ(trial.outcome, Outcome::ok) << trial.note;
}

TEST(Command, TakesTheClientsWordForItsSteps) {
  const Options options = program("client.py", {"{batch}"});
  CommandWorkload workload(options);
  const trial::Trial trial = measured(workload, at(48));
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(trial.step_source, "client (python)");
  EXPECT_EQ(trial.samples_seen, 48 * (trial.steps + trial.warm_up_steps));
  EXPECT_LT(trial.samples_per_second->mean, 2 * 48 / 0.002);
  EXPECT_EQ(processes_left(options), 0);
}

TEST(Command, ReadsPlainLinesOfSteps) {
  Options options;
  options.argv = {
      "i=0; while :; do i=$((i+1)); echo step $i/100000 loss 0.{batch}; sleep 0.005; done"};
  options.shell = true;
  CommandWorkload workload(options);
  const trial::Trial trial = measured(workload, at(16));
  EXPECT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(trial.step_source, "log lines of steps");
  EXPECT_LT(trial.samples_per_second->mean, 2 * 16 / 0.005);
}

TEST(Command, CountsByTheUsersExpression) {
  Options options;
  options.argv = {"i=0; while :; do i=$((i+1)); echo done {batch} nr $i; sleep 0.005; done"};
  options.shell = true;
  options.steps_regex = R"(done 16 nr (\d+))";
  CommandWorkload workload(options);
  const trial::Trial trial = measured(workload, at(16));
  EXPECT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(trial.step_source, "--steps-regex");
}

TEST(Command, RefusesABadExpressionBeforeAnythingRuns) {
  Options options = program("bar.py", {"{batch}"});
  options.steps_regex = "(";
  EXPECT_THROW(CommandWorkload{options}, core::InputError);
}

TEST(Command, WithoutVisibleStepsEachRunIsOne) {
  const tests::TemporaryFolder folder;
  const std::string starts = folder / "runs";
  Options options = program("whole.py", {"{batch}"});
  options.environment.emplace_back("SWEETSPOT_TEST_STARTS", starts);
  options.samples_per_run = 1000;
  CommandWorkload workload(options);
  const trial::Trial trial = measured(workload, at(32));
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(trial.step_source, "whole runs");
  EXPECT_FALSE(trial.start_up_seconds);
  EXPECT_LT(trial.samples_per_second->mean, 1000 / 0.02);
  EXPECT_EQ(trial.raw.front().updates, 31);
  EXPECT_EQ(trial.raw.front().samples, 31 * 32);
  EXPECT_THAT(lines_of(starts), SizeIs(trial.raw.size()));
  EXPECT_EQ(measured(workload, at(2000)).outcome, Outcome::refused);
}

TEST(Command, TriesATerminalWhereNothingIsSeenOnPipes) {
  Options options = program("terminal.py", {"{batch}"});
  CommandWorkload workload(options);
  const trial::Trial trial = measured(workload, at(32));
  EXPECT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_EQ(measured(workload, at(64)).outcome, Outcome::ok);
  options.terminal = Terminal::no;
  CommandWorkload never(options);
  EXPECT_EQ(measured(never, at(32)).outcome, Outcome::refused);
  options.terminal = Terminal::yes;
  CommandWorkload always(options);
  EXPECT_EQ(measured(always, at(32)).outcome, Outcome::ok);
}

TEST(Command, ATerminalThatWasAskedForStaysAfterARunWithoutAStep) {
  const tests::TemporaryFolder folder;
  const std::string mark = folder / "ran";
  Options options;
  options.argv = {"[ -e " + mark + " ] || exec touch " + mark +
                  "; test -t 1 && while :; do i=$((i+1)); echo step $i/100000 loss 0.{batch}; "
                  "sleep 0.005; done"};
  options.shell = true;
  options.terminal = Terminal::yes;
  CommandWorkload workload(options);
  EXPECT_EQ(measured(workload, at(32)).outcome, Outcome::refused);
  const trial::Trial again = measured(workload, at(32));
  EXPECT_EQ(again.outcome, Outcome::ok) << again.note;
}

TEST(Command, RunsEachHookAtItsTime) {
  const tests::TemporaryFolder folder;
  const std::string log = folder / "hooks";
  Options options = program("bar.py", {"{batch}"});
  const auto hook = [&](const std::string& text) { return "echo " + text + " >> '" + log + "'"; };
  options.setup = hook("setup");
  options.prepare = hook("prepare {batch} $SWEETSPOT_BATCH");
  options.conclude = hook("conclude {batch}");
  options.cleanup = hook("cleanup");
  {
    CommandWorkload workload(options);
    measured(workload, at(8));
    measured(workload, at(16));
  }
  EXPECT_THAT(lines_of(log), ElementsAre("setup", "prepare 8 8", "conclude 8", "prepare 16 16",
                                         "conclude 16", "cleanup"));
}

TEST(Command, NothingIsSeenOfAProgramThatHasEnded) {
  CommandWorkload workload(program("bar.py", {"{batch}", "3"}));
  const auto session = workload.open(at(8));
  EXPECT_THROW(while (true) session->step(), Ended);
  EXPECT_EQ(session->seen().loaded_ahead, 0u) << "its cgroup is gone";
  EXPECT_TRUE(session->seen().gpus.empty());
  session->close();
}

TEST(Command, TidiesUpEvenWhenToldToStop) {
  const tests::TemporaryFolder folder;
  const std::string log = folder / "hooks";
  std::atomic<int> stop{0};
  Options options = program("bar.py", {"{batch}"});
  options.grace = core::Seconds(60);
  options.conclude = "sleep 0.2; echo conclude >> '" + log + "'";
  options.cleanup = "sleep 0.2; echo cleanup >> '" + log + "'";
  CommandWorkload workload(options);
  const auto session = workload.open(at(8));
  stop = 2;
  EXPECT_THROW(session->step({stop}), Ended);
  session->close();
  workload.finish()({stop});
  EXPECT_THAT(lines_of(log), ElementsAre("conclude", "cleanup"));

  options.grace = core::Seconds(0.01);
  options.cleanup = "sleep 1000";
  CommandWorkload untidy(options);
  EXPECT_THROW(untidy.finish()({stop}), core::InputError) << "no longer than the grace";
  EXPECT_EQ(processes_left(options), 0);
}

TEST(Command, AFailedHookIsNamed) {
  const auto with = [](auto member) {
    Options options = program("bar.py", {"{batch}"});
    options.*member = "echo no luck; exit 7";
    return options;
  };
  try {
    CommandWorkload workload(with(&Options::setup));
    FAIL() << "it was accepted";
  } catch (const core::InputError& error) {
    EXPECT_WORDS(error.what());
  }
  CommandWorkload unprepared(with(&Options::prepare));
  const trial::Trial failed = measured(unprepared, at(8));
  EXPECT_EQ(failed.outcome, Outcome::crashed);
  EXPECT_WORDS(failed.note);
  CommandWorkload unconcluded(with(&Options::conclude));
  EXPECT_EQ(measured(unconcluded, at(8)).outcome, Outcome::ok);
  EXPECT_WORDS(measured(unconcluded, at(8)).note);
  CommandWorkload unclean(with(&Options::cleanup));
  EXPECT_THROW(unclean.finish()({}), core::InputError);
}

TEST(Command, AHookThatDoesNotEndIsGivenUp) {
  Options options = program("bar.py", {"{batch}"});
  options.prepare = "echo waiting; sleep 1000";
  options.hook_timeout = core::Seconds(0.05);
  CommandWorkload workload(options);
  const trial::Trial failed = measured(workload, at(8));
  EXPECT_EQ(failed.outcome, Outcome::crashed);
  EXPECT_WORDS(failed.note);
  EXPECT_EQ(processes_left(options), 0);
}

TEST(Command, WhatAHookLeavesRunningIsEnded) {
  Options options = program("bar.py", {"{batch}"});
  options.prepare = "sleep 1000 >/dev/null 2>&1 &";
  CommandWorkload workload(options);
  EXPECT_EQ(measured(workload, at(8)).outcome, Outcome::ok);
  EXPECT_EQ(processes_left(options), 0);
}

TEST(Command, CountsMicroBatchesWhereSeveralMakeAnUpdate) {
  CommandWorkload workload(program("bar.py", {"{micro_batch}"}));
  trial::Setting setting = at(32);
  setting.accumulation = 4;
  const trial::Trial trial = measured(workload, setting);
  ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
  EXPECT_LT(trial.samples_per_second->mean, 8 / 0.002);
}

}  // namespace
}  // namespace sweetspot::workload::command
