#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "temporary_folder.h"
#include "words.h"
#include "workload/command/workload_support.h"

namespace sweetspot::workload::command {
namespace {

using namespace testing_support;
using testing::SizeIs;
using trial::Outcome;

class ClientSession : public testing::Test {
 protected:
  ClientSession() : options_(program("session.py", {})), starts_(folder_ / "starts") {
    options_.environment.emplace_back("SWEETSPOT_TEST_STARTS", starts_);
  }
  tests::TemporaryFolder folder_;
  Options options_;
  std::string starts_;
};

TEST_F(ClientSession, TrainsBatchAfterBatchAndStartsOnce) {
  {
    CommandWorkload workload(options_);
    bool first = true;
    for (const std::int64_t size : {16, 64, 24}) {
      const trial::Trial trial = measured(workload, at(size));
      ASSERT_EQ(trial.outcome, Outcome::ok) << trial.note;
      EXPECT_EQ(trial.step_source, "client (python)");
      EXPECT_EQ(trial.samples_seen, size * (trial.steps + trial.warm_up_steps));
      EXPECT_EQ(trial.in_same_process, !first);
      ASSERT_TRUE(trial.start_up_seconds);
      if (first) {
        EXPECT_GE(*trial.start_up_seconds, 0.3);  // it sleeps for that long
      }
      // Counted from the process's start it would exceed a later trial.
      EXPECT_LE(*trial.start_up_seconds, trial.seconds);
      first = false;
    }
    EXPECT_GT(processes_left(options_), 0) << "the process is kept";
  }
  EXPECT_EQ(processes_left(options_), 0);
  EXPECT_THAT(lines_of(starts_), SizeIs(2));
  EXPECT_EQ(lines_of(starts_).back(), "done") << "it was told to end, not killed";
}

// Its end takes seconds where it has a GPU: meanwhile the answer is written.
TEST_F(ClientSession, EndsWhileItIsNotWaitedForOnceReleased) {
  CommandWorkload workload(options_);
  ASSERT_EQ(measured(workload, at(16)).outcome, Outcome::ok);
  const auto finish = workload.finish();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (lines_of(starts_).size() < 2 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(lines_of(starts_).back(), "done");
  finish({});
  EXPECT_EQ(processes_left(options_), 0);
}

TEST_F(ClientSession, GoesOnInANewProcessWhenOneDies) {
  options_.environment.emplace_back("SWEETSPOT_TEST_DIES_AT", "64");
  CommandWorkload workload(options_);
  EXPECT_EQ(measured(workload, at(16)).outcome, Outcome::ok);
  const trial::Trial died = measured(workload, at(64));
  EXPECT_EQ(died.outcome, Outcome::crashed);
  EXPECT_WORDS(died.note);
  EXPECT_EQ(processes_left(options_), 0);
  EXPECT_EQ(measured(workload, at(32)).outcome, Outcome::ok);
  EXPECT_THAT(lines_of(starts_), SizeIs(2));
}

TEST_F(ClientSession, ASettingThatItGivesUpForWantOfMemoryIsOutOfMemory) {
  options_.environment.emplace_back("SWEETSPOT_TEST_SKIPS", "64");
  CommandWorkload workload(options_);
  EXPECT_EQ(measured(workload, at(16)).outcome, Outcome::ok);
  const trial::Trial skipped = measured(workload, at(64));
  EXPECT_EQ(skipped.outcome, Outcome::out_of_memory);
  EXPECT_EQ(skipped.note, "out of memory on the GPU, 20.0 GiB asked for");
  EXPECT_EQ(skipped.memory_wanted, 20 * core::GiB);
  // The line of an earlier setting is not evidence in a later one.
  const trial::Trial next = measured(workload, at(32));
  EXPECT_EQ(next.outcome, Outcome::ok) << next.note;
  EXPECT_THAT(lines_of(starts_), SizeIs(1)) << "one process did it all";
}

struct ClientFunction : ClientSession {
  ClientFunction() {
    options_.argv = program("function.py", {}).argv;
    options_.environment.emplace_back("SWEETSPOT_TEST_LACKS", "64");
  }
};

TEST_F(ClientFunction, SurvivesABatchThatIsOutOfMemoryInOneProcess) {
  {
    CommandWorkload workload(options_);
    EXPECT_EQ(measured(workload, at(16)).outcome, Outcome::ok);
    const trial::Trial lacking = measured(workload, at(64));
    EXPECT_EQ(lacking.outcome, Outcome::out_of_memory);
    EXPECT_EQ(lacking.note, "out of memory on the GPU, 20.0 GiB asked for");
    EXPECT_THAT(lacking.last_output, testing::HasSubstr("20.00 GiB. See the manual."));
    const trial::Trial after = measured(workload, at(32));
    EXPECT_EQ(after.outcome, Outcome::ok) << after.note;
  }
  EXPECT_THAT(lines_of(starts_), SizeIs(2));
  EXPECT_EQ(lines_of(starts_).back(), "done");
}

TEST_F(ClientFunction, IsStartedAnewWhereMemoryDoesNotComeBack) {
  options_.environment.emplace_back("SWEETSPOT_TEST_KEEPS", "536870912");
  CommandWorkload workload(options_);
  const trial::Trial lacking = measured(workload, at(64));
  EXPECT_EQ(lacking.outcome, Outcome::out_of_memory);
  EXPECT_WORDS(lacking.note);
  EXPECT_EQ(processes_left(options_), 0);
  EXPECT_EQ(measured(workload, at(32)).outcome, Outcome::ok);
  EXPECT_THAT(lines_of(starts_), SizeIs(2)) << "two starts, and no end yet";
}

TEST_F(ClientSession, TellsMemoryOnlyWhereThePeakGrew) {
  CommandWorkload workload(options_);
  EXPECT_TRUE(measured(workload, at(16)).memory_measured);
  for (int i = 0; i < 3; ++i) measured(workload, at(16));
  const trial::Trial last = measured(workload, at(16));
  EXPECT_THAT(last.memory_source, testing::HasSubstr("kept process"));
}

// Whatever arrives at once: a metric is of the steps that were told before it.
TEST(ProgramsMetrics, AreOfTheStepsBeforeThem) {
  struct Observer final : TrainingObserver {
    bool evaluated(const trial::Evaluation& at) override {
      EXPECT_GE(at.steps, 20 * ++evaluations);
      EXPECT_LE(at.steps, 20 * evaluations + 1) << "it may be read during the next one";
      EXPECT_EQ(at.test_loss, 1. / evaluations);
      EXPECT_NEAR(at.noise_scale.value_or(0), 100, 1e-6);
      return evaluations < 5;
    }
    int evaluations = 0;
  } observer;
  Options options = program("evaluated.py", {});
  options.metric = trial::Target::Metric::loss;
  const std::atomic<int> stop{0};
  const Trained trained = CommandTraining(options).train(at(8), 1, observer, {stop});
  EXPECT_EQ(trained.outcome, Outcome::ok) << trained.note;
  EXPECT_EQ(observer.evaluations, 5);
  EXPECT_NEAR(trained.noise_scale.value().mean, 100, 1e-6);
}

}  // namespace
}  // namespace sweetspot::workload::command
