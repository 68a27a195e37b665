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

// The state of a trial that exceeds the budget, and whether its warm-up was over.
struct Came {
  Outcome outcome = Outcome::ok;
  std::optional<StopReason> stop_reason = StopReason::ended;
  std::int64_t steps = 0;
  bool warmed_up = true;
};

struct Ran {
  advise::CutShort end;
  std::vector<trial::Trial> kept;
};

Ran past_the_budget(const Came& came, int stop_value = 0) {
  double now = 0;
  LoopOptions options;
  options.budget = core::Seconds(10);
  options.now = [&now] { return core::Seconds(now); };
  const auto run = [&](const trial::Setting& setting, const measure::MeasureOptions&,
                       const measure::Watch& watch, const std::atomic<int>&) {
    watch({&setting, true, 1, {}});
    if (came.warmed_up) watch({&setting, false, 1, {}});
    now = 11;
    trial::Trial trial;
    trial.setting = setting;
    trial.outcome = came.outcome;
    trial.stop_reason = came.stop_reason;
    trial.steps = trial.timings = came.steps;
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
                       const measure::Watch&, const std::atomic<int>&) {
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
                       const measure::Watch&, const std::atomic<int>&) {
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
  const Ran ran = past_the_budget({.steps = 3});
  EXPECT_EQ(ran.end, advise::CutShort::budget);
  ASSERT_EQ(ran.kept.size(), 1u);
  EXPECT_EQ(ran.kept.front().stop_reason, StopReason::time_limit);
}

TEST(Loop, ATrialThatTheBudgetEndedTooSoonIsNone) {
  for (const Came& came :
       {Came{.steps = 100, .warmed_up = false}, Came{.steps = 2},
        Came{.outcome = Outcome::crashed, .steps = 1},  // "ended before two steps were measured"
        Came{.outcome = Outcome::cancelled, .stop_reason = {}}}) {
    const Ran ran = past_the_budget(came);
    EXPECT_EQ(ran.end, advise::CutShort::budget);
    EXPECT_TRUE(ran.kept.empty()) << name(came.outcome) << " after " << came.steps;
  }
  EXPECT_EQ(past_the_budget({.outcome = Outcome::cancelled, .stop_reason = {}}, 2).end,
            advise::CutShort::stopped);
}

TEST(Loop, AVerdictCountsHoweverLateItComes) {
  for (const Outcome outcome : {Outcome::out_of_memory, Outcome::crashed, Outcome::refused})
    EXPECT_EQ(past_the_budget({.outcome = outcome, .stop_reason = {}}).kept.size(), 1u);
  const Ran ran = past_the_budget({.stop_reason = StopReason::precise, .steps = 20});
  ASSERT_EQ(ran.kept.size(), 1u);
  EXPECT_EQ(ran.kept.front().stop_reason, StopReason::precise);
}

}  // namespace
}  // namespace sweetspot::study
