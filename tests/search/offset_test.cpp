// Rounds and separate runs of the same batches: one data set, with an offset between the two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "search/evidence.h"
#include "search/made.h"
#include "stats/quantile.h"

namespace sweetspot::search {
namespace {

using stats::square;

constexpr double run_noise = 0.01;  // half of a run's interval

double variance(const Evidence& known, std::int64_t one, std::int64_t other) {
  const auto& batches = known.times.batches;
  const auto place = [&](std::int64_t batch) {
    return std::ranges::find(batches, batch) - batches.begin();
  };
  return known.times
      .covariance[static_cast<std::size_t>(place(one) * std::ssize(batches) + place(other))];
}

double log_seconds(const Evidence& known, std::int64_t batch) {
  const auto& batches = known.times.batches;
  return known.times
      .log_seconds[static_cast<std::size_t>(std::ranges::find(batches, batch) - batches.begin())];
}

// By its own steps, and between runs.
double run_variance() {
  const double half = std::log((1 + run_noise) / (1 - run_noise)) / 2;
  return square(half / stats::normal95) + square(experiment::run_deviation);
}

// A run that takes this much longer (log) than rounds do.
trial::Trial apart(std::int64_t batch, double longer) {
  return ok(batch, line_speed(batch, 10) * std::exp(-longer), run_noise);
}

std::vector<trial::Trial> rounds_of(const std::vector<std::int64_t>& batches) {
  std::vector<trial::Trial> trials;
  for (const std::int64_t batch : batches)
    trials.push_back(in_rounds(batch, line_speed(batch, 10), 40, 0.005));
  return trials;
}

Evidence with(std::vector<trial::Trial> trials, const std::vector<trial::Trial>& more) {
  trials.insert(trials.end(), more.begin(), more.end());
  return evidence(trials);
}

TEST(Offset, RunsAloneAreTheMeasure) {
  const Evidence known = evidence(std::vector{apart(16, 0.1), apart(64, 0.1)});
  EXPECT_NEAR(log_seconds(known, 16), std::log(16 / line_speed(16, 10)) + 0.1, 1e-12);
  EXPECT_NEAR(variance(known, 16, 16), run_variance(), 1e-12);
  EXPECT_EQ(variance(known, 16, 64), 0);
}

// The error of a difference is that of the rounds, of the run, and of the offset: it is divided
// among them.
TEST(Offset, IsDividedByWhatIsKnownOfEach) {
  const auto rounds = rounds_of({16});
  const Evidence before = evidence(rounds);
  const double own = variance(before, 16, 16), offset = square(experiment::run_deviation);
  constexpr double longer = 0.04;
  const Evidence known = with(rounds, {apart(16, longer)});
  const double difference = std::log(16 / line_speed(16, 10)) + longer - log_seconds(before, 16);
  const double total = own + offset + run_variance();
  EXPECT_NEAR(log_seconds(known, 16) - log_seconds(before, 16), own / total * difference, 1e-12);
  EXPECT_NEAR(variance(known, 16, 16), own - square(own) / total, 1e-12);
  EXPECT_LT(std::abs(log_seconds(known, 16) - log_seconds(before, 16)), 0.2 * longer)
      << "rounds know better";
}

TEST(Offset, ShiftsWhatHasOnlyRuns) {
  const auto rounds = rounds_of({16, 64, 256, 512});
  constexpr double longer = 0.1;
  const double truth = std::log(1024 / line_speed(1024, 10));
  std::vector<trial::Trial> runs = {apart(1024, longer)};
  double away = log_seconds(with(rounds, runs), 1024) - truth;
  EXPECT_NEAR(away, longer, 1e-6) << "nothing has both";
  for (const std::int64_t batch : {16, 64, 256, 512}) {
    runs.push_back(apart(batch, longer));
    const double now = log_seconds(with(rounds, runs), 1024) - truth;
    EXPECT_LT(now, away) << batch;
    EXPECT_GT(now, 0) << batch << ": its prior has a mean of 0";
    away = now;
  }
  EXPECT_LT(away, longer / 3);
}

TEST(Offset, ItsErrorIsSharedByThoseThatHaveOnlyRuns) {
  const auto rounds = rounds_of({16, 64});
  const Evidence unknown = with(rounds, {apart(512, 0.1), apart(1024, 0.1)});
  EXPECT_NEAR(variance(unknown, 512, 1024), square(experiment::run_deviation), 1e-12);
  EXPECT_NEAR(variance(unknown, 512, 512), run_variance() + square(experiment::run_deviation),
              1e-12);
  const Evidence known =
      with(rounds, {apart(16, 0.1), apart(64, 0.1), apart(512, 0.1), apart(1024, 0.1)});
  EXPECT_LT(variance(known, 512, 1024), variance(unknown, 512, 1024));
  EXPECT_GT(variance(known, 512, 1024), 0);
  // Two runs are compared as ever.
  for (const Evidence& each : {unknown, known})
    EXPECT_NEAR(
        variance(each, 512, 512) + variance(each, 1024, 1024) - 2 * variance(each, 512, 1024),
        2 * run_variance(), 1e-12);
}

TEST(Offset, RunsAddToWhatRoundsKnow) {
  const auto rounds = rounds_of({16, 64, 256});
  const Evidence before = evidence(rounds);
  const Evidence after = with(rounds, {apart(16, 0), apart(64, 0), apart(256, 0)});
  for (const std::int64_t batch : {16, 64, 256})
    EXPECT_LT(variance(after, batch, batch), variance(before, batch, batch)) << batch;
}

}  // namespace
}  // namespace sweetspot::search
