#include "stats/round_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "core/random.h"
#include "stats/experiment.h"
#include "stats/quantile.h"

namespace sweetspot::stats {
namespace {

constexpr std::int32_t round_count = 60;

// Of a column, in a round.
using BlockTime = std::function<double(std::size_t column, std::int32_t round)>;

std::vector<RoundTimes> table_of(std::size_t columns, const BlockTime& time,
                                 std::int32_t rounds = round_count) {
  std::vector<RoundTimes> made(columns);
  for (std::size_t column = 0; column < columns; ++column)
    for (std::int32_t round = 1; round <= rounds; ++round)
      made[column][round] = time(column, round);
  return made;
}

double noise(std::uint64_t seed, std::size_t column, std::int32_t round) {
  return core::Random(seed, core::Purpose::synthetic, static_cast<std::uint32_t>(column))
      .normal(static_cast<std::uint64_t>(round));
}

// The common effect of a round.
double of_round(std::uint64_t seed, std::int32_t round) { return noise(seed, 1000, round); }

double variance_of_difference(const std::vector<double>& covariance, std::size_t columns,
                              std::size_t a, std::size_t b) {
  const auto at = [&](std::size_t i, std::size_t j) { return covariance[i * columns + j]; };
  return at(a, a) + at(b, b) - 2 * at(a, b);
}

TEST(RoundTable, EstimatesTheMeanOfTheCalmRounds) {
  // 0 to 99, shuffled: those from 10 to 49 are undisturbed.
  const auto table = table_of(
      1, [](auto, auto round) { return (37 * round) % 100; }, 100);
  EXPECT_NEAR(RoundTable(table).estimates()[0], 29.5, 1e-9);
}

TEST(RoundTable, WhatDisturbsHalfOfTheBlocksDoesNotMoveTheEstimate) {
  const auto time = [](std::size_t column, std::int32_t round) {
    return 0.001 * noise(1, column, round) + (round % 2 == 0 ? 0.7 : 0);
  };
  EXPECT_NEAR(RoundTable(table_of(1, time)).estimates()[0], 0, 0.002);
}

TEST(RoundTable, WhatDisturbsWholeRoundsDoesNotChangeDifferences) {
  const auto time = [](std::size_t column, std::int32_t round) {
    return static_cast<double>(column) + 0.005 * noise(1, column, round) +
           (round > 20 && round <= 40 ? 0.4 : 0);
  };
  const auto estimates = RoundTable(table_of(6, time)).estimates();
  for (std::size_t i = 1; i < estimates.size(); ++i)
    EXPECT_NEAR(estimates[i] - estimates[0], static_cast<double>(i), 0.005) << i;
}

// Like a batch that enters late, while there is a neighbour some or most of the time.
TEST(RoundTable, AColumnThatWasOnlyInDisturbedRoundsIsNoSlowerForIt) {
  for (const double disturbance : {0.05, 0.4})
    for (const std::int32_t from : {20, 40, 50}) {
      auto table = table_of(6, [&](std::size_t column, std::int32_t round) {
        return static_cast<double>(column) + 0.005 * noise(1, column, round) +
               (round > from ? disturbance : 0);
      });
      std::erase_if(table[3], [&](const auto& block) { return block.first <= from; });
      const auto estimates = RoundTable(table).estimates();
      EXPECT_NEAR(estimates[3] - estimates[2], 1, 0.01) << disturbance << " from " << from;
      EXPECT_NEAR(estimates[4] - estimates[3], 1, 0.01) << disturbance << " from " << from;
    }
}

TEST(RoundTable, AColumnThatIsAloneInItsRoundsIsTakenAsItIs) {
  auto table = table_of(
      3, [](std::size_t column, std::int32_t round) { return 0.01 * noise(1, column, round); });
  table.push_back({{round_count + 1, 5.0}});
  EXPECT_DOUBLE_EQ(RoundTable(table).estimates()[3], 5.0);
}

// Four that were interleaved while the machine was slow most of the time, and two before and after.
// The effects of their rounds are known only relative to each other, not to the others' rounds.
TEST(RoundTable, ThingsThatNeverMetAreComparedOnACalmMachine) {
  auto table = table_of(6, [](std::size_t column, std::int32_t round) {
    return static_cast<double>(column) + 0.005 * noise(1, column, round) +
           (round > 20 && round <= 48 ? 0.4 : 0);
  });
  for (std::size_t column = 0; column < 6; ++column)
    std::erase_if(table[column], [&](const auto& block) {
      const bool with_the_two = block.first <= 8 || block.first > 50;
      return with_the_two != (column < 2);
    });
  const auto estimates = RoundTable(table).estimates();
  for (std::size_t i = 1; i < estimates.size(); ++i)
    EXPECT_NEAR(estimates[i] - estimates[0], static_cast<double>(i), 0.2) << i;
  // A group's level is in doubt, and with it every comparison with another group.
  const auto covariance = RoundTable(table).covariance();
  EXPECT_GT(variance_of_difference(covariance, 6, 1, 2),
            4 * variance_of_difference(covariance, 6, 2, 3));
}

// The mean of n normal values between their 10% and 50% quantiles has variance 1.36/n, and slightly
// less if the rounds' effects absorb some of it.
TEST(RoundTable, IndependentNoiseHasTheVarianceOfTheCalmMean) {
  constexpr double deviation = 0.05;
  constexpr std::size_t columns = 6;
  constexpr int times = 40;
  double variance = 0, shared = 0;
  for (int seed = 0; seed < times; ++seed) {
    const auto covariance =
        RoundTable(table_of(columns, [&](std::size_t column, auto round) {
          return deviation * noise(static_cast<std::uint64_t>(seed), column, round);
        })).covariance();
    for (std::size_t i = 0; i < columns; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        (i == j ? variance : shared) += covariance[i * columns + j];
  }
  variance = variance / (times * columns) - square(experiment::drift_share * deviation);
  shared = shared / (times * columns * (columns - 1));
  const double expected = 1.36 * square(deviation) / round_count;
  EXPECT_GT(variance, 0.5 * expected);
  EXPECT_LT(variance, 1.6 * expected);
  EXPECT_LT(std::abs(shared), 0.2 * expected);
}

TEST(RoundTable, NoiseThatIsSharedIsNoErrorOfADifference) {
  const auto difference = [](double of_rounds) {
    constexpr std::size_t columns = 6;
    double sum = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      sum +=
          variance_of_difference(RoundTable(table_of(columns,
                                                     [&](std::size_t column, std::int32_t round) {
                                                       return 0.01 * noise(seed, column, round) +
                                                              of_rounds * of_round(seed, round);
                                                     }))
                                     .covariance(),
                                 columns, 1, 4);
    return sum / 20;
  };
  EXPECT_LT(difference(0.2), 2 * difference(0));
}

// A column entered twice differs from itself by more than its interval at most one time in twenty.
TEST(RoundTable, WhatIsTheSameSeldomDiffers) {
  constexpr std::uint64_t seeds = 400;
  constexpr std::size_t columns = 6;
  // Undisturbed; with shared drift; and with slow blocks as well.
  for (const double disturbance : {0.0, 0.1, 0.2}) {
    int differ = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      const RoundTable table(table_of(
          columns,
          [&](std::size_t column, std::int32_t round) {
            const double own = noise(seed, column, round);
            const bool slow = disturbance > 0.1 && std::abs(own) > 1.6;  // a block in nine
            return 0.02 * own + disturbance * of_round(seed, round / 5) + (slow ? 0.5 : 0);
          },
          40));
      const double apart = table.estimates()[1] - table.estimates()[2];
      const double variance = variance_of_difference(table.covariance(), columns, 1, 2);
      differ += std::abs(apart) > normal95 * std::sqrt(variance);
    }
    EXPECT_LE(differ, seeds * 6 / 100) << disturbance;
  }
}

TEST(RoundTable, FewRoundsAreTrustedLess) {
  constexpr std::size_t columns = 4;
  const auto time = [](std::size_t column, std::int32_t round) {
    // Column 3 is constant, as three blocks may be by luck.
    return column == 3 ? 0 : 0.05 * noise(1, column, round);
  };
  auto table = table_of(columns, time);
  std::erase_if(table[3], [](const auto& block) { return block.first > 3; });
  const auto covariance = RoundTable(table).covariance();
  const double many = covariance[0], few = covariance[3 * columns + 3];
  EXPECT_GT(few, 2 * many);
  EXPECT_GT(few, square(0.05) / 3);
}

TEST(RoundTable, NothingIsKnownBetterThanTheMachineStaysTheSame) {
  const auto exact = RoundTable(table_of(2, [](auto column, auto) {
                       return static_cast<double>(column);
                     })).covariance();
  EXPECT_DOUBLE_EQ(exact[0], square(experiment::least_drift));
  EXPECT_DOUBLE_EQ(exact[1], 0);
  // A single block of a single column: the prior spread of blocks.
  EXPECT_GE(RoundTable({{{1, 0.5}}}).covariance()[0], square(experiment::block_deviation));
}

}  // namespace
}  // namespace sweetspot::stats
