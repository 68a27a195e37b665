#include "study/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "study/memory_store.h"

namespace sweetspot::study {
namespace {

using tests::Kept;
using tests::MemoryWriter;
using trial::Outcome;
using trial::StopReason;

// The state of a trial that exceeds the budget.
struct Came {
  Outcome outcome = Outcome::ok;
  std::optional<StopReason> stop_reason = StopReason::time_limit;
};

struct Ran {
  std::optional<trial::End> end;
  std::vector<trial::Trial> kept;
};

Ran past_the_budget(const Came& came, int stop_value = 0) {
  double now = 0;
  LoopOptions options;
  options.budget = core::Seconds(10);
  options.now = [&now] { return core::Seconds(now); };
  const auto run = [&](const trial::Setting& setting, const measure::MeasureOptions&,
                       const measure::Watch&, const workload::Until& until) {
    EXPECT_LE(*until.deadline, workload::Until::Clock::now() + std::chrono::seconds(10));
    now = 11;
    trial::Trial trial;
    trial.setting = setting;
    trial.outcome = came.outcome;
    trial.stop_reason = came.stop_reason;
    return trial;
  };
  Kept kept;
  MemoryWriter writer(kept);
  Observer quiet;
  const std::atomic<int> stop{stop_value};
  Loop loop(run, writer, options, quiet, stop);
  const bool returned = loop.run({}) != nullptr;
  EXPECT_EQ(returned, !kept.study.trials.empty());
  EXPECT_FALSE(loop.may_go_on());
  return {loop.end(), kept.study.trials};
}

TEST(Loop, ItsStoreKnowsWhichBatchIsRunning) {
  Kept kept;
  MemoryWriter writer(kept);
  std::optional<trial::Running> told;
  const auto run = [&](const trial::Setting& setting, const measure::MeasureOptions&,
                       const measure::Watch&, const workload::Until&) {
    told = kept.study.running;
    trial::Trial trial;
    trial.setting = setting;
    return trial;
  };
  Observer quiet;
  const std::atomic<int> stop{0};
  Loop loop(run, writer, {}, quiet, stop);
  trial::Setting setting;
  setting.batch = 96;
  loop.run(setting);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->batch, 96);
}

TEST(Loop, WhatIsRunAgainIsNoFirstLook) {
  LoopOptions options;
  options.measure.first_look = true;
  std::vector<bool> looks;
  const auto run = [&](const trial::Setting& setting, const measure::MeasureOptions& asked,
                       const measure::Watch&, const workload::Until&) {
    looks.push_back(asked.first_look);
    trial::Trial trial;
    trial.setting = setting;
    return trial;
  };
  Kept kept;
  MemoryWriter writer(kept);
  Observer quiet;
  const std::atomic<int> stop{0};
  Loop loop(run, writer, options, quiet, stop);
  trial::Setting other;
  other.batch = 2;
  loop.run({}), loop.run(other), loop.run({});
  EXPECT_THAT(looks, testing::ElementsAre(true, true, false));
}

TEST(Loop, WhatWasMeasuredBeforeTheBudgetsEndIsKept) {
  const Ran ran = past_the_budget({});
  EXPECT_EQ(ran.end, trial::End::budget);
  ASSERT_EQ(ran.kept.size(), 1u);
  EXPECT_EQ(ran.kept.front().stop_reason, StopReason::time_limit);
}

TEST(Loop, ATrialThatTheBudgetEndedTooSoonIsNone) {
  const Ran ran = past_the_budget({.outcome = Outcome::cancelled, .stop_reason = {}});
  EXPECT_EQ(ran.end, trial::End::budget);
  EXPECT_TRUE(ran.kept.empty());
  EXPECT_EQ(past_the_budget({.outcome = Outcome::cancelled, .stop_reason = {}}, 2).end,
            trial::End::stopped);
}

TEST(Loop, AVerdictCountsHoweverLateItComes) {
  for (const Outcome outcome : {Outcome::out_of_memory, Outcome::crashed, Outcome::refused})
    EXPECT_EQ(past_the_budget({.outcome = outcome, .stop_reason = {}}).kept.size(), 1u);
  for (const StopReason reason : {StopReason::precise, StopReason::ended}) {
    const Ran ran = past_the_budget({.stop_reason = reason});
    ASSERT_EQ(ran.kept.size(), 1u);
    EXPECT_EQ(ran.kept.front().stop_reason, reason);
  }
}

}  // namespace
}  // namespace sweetspot::study
