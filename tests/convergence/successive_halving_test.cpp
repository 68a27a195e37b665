#include "convergence/successive_halving.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace sweetspot::convergence {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

// Batches with their cost, predicted exactly unless stated otherwise; a cost of zero means failure.
struct Course {
  std::map<std::int64_t, double> costs;
  std::map<std::int64_t, double> predicted = costs;
  std::set<std::int64_t> failing = {}, never_reach = {};
  double luck_of_seed_one = 1;

  std::vector<RaceRun> run(const RaceRules& rules) const {
    std::vector<RaceEntry> entries;
    for (const auto& [batch, cost] : predicted) entries.push_back({batch, cost, 0.7 * cost});
    std::vector<RaceRun> runs;
    while (const auto next = next_run(entries, runs, rules)) {
      RaceRun run{next->batch, next->seed};
      const double cost = costs.at(next->batch) * (next->seed == 1 ? luck_of_seed_one : 1);
      run.failed = failing.contains(next->batch);
      const bool reaches = !run.failed && !never_reach.contains(next->batch) &&
                           (!next->most_cost || cost <= *next->most_cost);
      if (reaches) run.cost = cost;
      runs.push_back(run);
      if (runs.size() > 100) break;
    }
    return runs;
  }
};

int runs_of(const std::vector<RaceRun>& runs, std::int64_t batch) {
  return static_cast<int>(std::ranges::count(runs, batch, &RaceRun::batch));
}

const Course course{{{16, 9}, {32, 7}, {64, 5}, {128, 5.5}, {256, 6.5}, {512, 9}, {1024, 15}}};

TEST(Race, TrainsTheBestPredictedAndTheBetterHalfAgain) {
  const auto runs = course.run({.finalists = 4, .seeds = 3, .pilot = 128});
  EXPECT_EQ(runs.front().batch, 128) << "the pilot goes first";
  EXPECT_EQ(winner(runs), 64);
  EXPECT_EQ(runs_of(runs, 64), 3);
  EXPECT_EQ(runs_of(runs, 128), 3) << "the second is compared to the end";
  EXPECT_EQ(runs_of(runs, 256), 1);
  EXPECT_EQ(runs_of(runs, 16) + runs_of(runs, 512) + runs_of(runs, 1024), 0);
}

TEST(Race, LeavesOutWhatCannotWin) {
  Course clear = course;
  clear.costs[32] = clear.costs[256] = clear.predicted[32] = clear.predicted[256] = 20;
  const auto runs = clear.run({.finalists = 4, .seeds = 1, .pilot = 128});
  EXPECT_THAT(runs, SizeIs(2)) << "64 and 128 are far ahead of all predictions";
}

TEST(Race, GivesUpARunThatIsHopeless) {
  Course surprising = course;
  surprising.predicted[1024] = 1;
  const auto runs = surprising.run({.finalists = 3, .seeds = 2, .pilot = 128});
  const auto found = std::ranges::find(runs, 1024, &RaceRun::batch);
  ASSERT_NE(found, runs.end());
  EXPECT_FALSE(found->cost);
  EXPECT_EQ(runs_of(runs, 1024), 1);
  EXPECT_EQ(winner(runs), 64);
}

TEST(Race, GoesOnWithoutABatchThatFails) {
  Course failing = course;
  failing.failing = {64, 128};
  const auto runs = failing.run({.finalists = 3, .seeds = 2, .pilot = 128});
  EXPECT_EQ(runs_of(runs, 64), 1);
  EXPECT_EQ(winner(runs), 256);
  const auto reached =
      std::ranges::count_if(runs, [](const RaceRun& run) { return run.seed == 0 && run.cost; });
  EXPECT_EQ(reached, 3) << "others took their places";
}

TEST(Race, EndsWhereNoneReachesTheTarget) {
  Course lost = course;
  for (const auto& [batch, cost] : lost.costs) lost.never_reach.insert(batch);
  const auto runs = lost.run({.finalists = 3, .seeds = 3, .pilot = 128});
  EXPECT_THAT(runs, SizeIs(3)) << "each finalist once";
  EXPECT_FALSE(winner(runs));
}

TEST(Race, WithoutFinalistsTrainsEverythingWithEverySeed) {
  const auto runs = course.run({.finalists = std::nullopt, .seeds = 3, .pilot = 128});
  EXPECT_THAT(runs, SizeIs(21));
  for (const auto& [batch, cost] : course.costs) EXPECT_EQ(runs_of(runs, batch), 3) << batch;
  for (const RaceRun& run : runs) EXPECT_TRUE(run.cost) << "none is given up";
}

TEST(Race, ThatTrainsEverythingTrainsWhatWasGivenUpAgain) {
  const RaceEntry entries[] = {{64, 1, 1}, {128, 1, 1}};
  const RaceRun runs[] = {{128, 0, 5}, {64, 0, std::nullopt, false, true}};
  const auto next = next_run(entries, runs, {.finalists = std::nullopt, .seeds = 1, .pilot = 128});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->batch, 64);
  EXPECT_FALSE(next->most_cost);
}

// A lucky seed of one batch does not decide.
TEST(Race, ComparesMeansOverSeeds) {
  std::vector<RaceRun> runs{{64, 0, 4}, {64, 1, 9}, {128, 0, 5}, {128, 1, 5}};
  EXPECT_EQ(winner(runs), 128);
  runs[3].cost.reset();
  EXPECT_EQ(winner(runs), 64) << "the other does not always get there";
}

}  // namespace
}  // namespace sweetspot::convergence
