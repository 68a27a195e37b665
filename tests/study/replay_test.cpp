// Tunes on recorded machines (bench_rounds), in virtual time.
#include "study/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stats/quantile.h"
#include "stats/round_table.h"
#include "study/memory_store.h"
#include "tuning/tune.h"

namespace sweetspot::study {
namespace {

namespace fs = std::filesystem;

constexpr int tunes_of_a_recording = 15;
// Over all recordings.
constexpr double least_agreement = 0.9;
constexpr double most_regret_95 = 0.06;  // 95th percentile
constexpr double least_coverage = 0.93, most_coverage = 0.97;
constexpr double most_twins_apart = 0.05;
constexpr double widest_on_gpu = 1.5;  // of the knee's bounds
constexpr std::int64_t rounds_of_twins = 40;

std::vector<fs::path> recordings() {
  std::vector<fs::path> files;
  const fs::path folder = SWEETSPOT_SOURCE_DIR "/tests/study/recordings";
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".gz") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

struct Replayed {
  std::vector<std::int64_t> answers;
  std::vector<double> regrets;
  int covered = 0;    // tunes whose bounds contain the true knee
  double widest = 0;  // of the bounds: their high end relative to their low end
};

Replayed replay(const Recording& recording) {
  Replayed replayed;
  for (int i = 0; i < tunes_of_a_recording; ++i) {
    ReplayWorkload workload(recording, recording.rounds() * i / tunes_of_a_recording);
    tests::Kept kept;
    tests::MemoryWriter writer(kept);
    tuning::TuneOptions options;
    options.limits.min = recording.smallest(), options.limits.max = recording.largest();
    Observer nobody;
    const std::atomic<int> stop{0};
    const tuning::TuneResult result = tune(workload, writer, options, nobody, stop);
    if (!result.recommendation()) continue;
    const advise::Recommendation& made = *result.recommendation();
    replayed.answers.push_back(made.batch);
    replayed.regrets.push_back(1 - recording.true_speed(static_cast<double>(made.batch)) /
                                       recording.true_best());
    const double knee = recording.true_knee(options.limits.tolerance);
    replayed.covered +=
        static_cast<double>(made.knee_low) <= knee && static_cast<double>(made.knee_high) >= knee;
    replayed.widest = std::max(
        replayed.widest, static_cast<double>(made.knee_high) / static_cast<double>(made.knee_low));
  }
  return replayed;
}

std::ptrdiff_t commonest(const std::vector<std::int64_t>& answers) {
  std::ptrdiff_t most = 0;
  for (const std::int64_t answer : answers)
    most = std::max(most, std::ranges::count(answers, answer));
  return most;
}

TEST(Recordings, TunesAgreeAreRightAndTheirBoundsHoldTheTrueKnee) {
  double covered = 0, agreed = 0;
  std::vector<double> regrets;
  for (const fs::path& file : recordings()) {
    const Recording recording(file);
    const Replayed replayed = replay(recording);
    ASSERT_EQ(replayed.answers.size(), static_cast<std::size_t>(tunes_of_a_recording)) << file;
    if (recording.device() != "cpu") {  // a GPU's steps repeat to a fifth of a percent
      EXPECT_EQ(commonest(replayed.answers), tunes_of_a_recording) << file;
      EXPECT_LE(replayed.widest, widest_on_gpu) << file;
      EXPECT_LE(std::ranges::max(replayed.regrets), most_regret_95) << file;
    }
    covered += replayed.covered;
    agreed += static_cast<double>(commonest(replayed.answers));
    regrets.insert(regrets.end(), replayed.regrets.begin(), replayed.regrets.end());
  }
  ASSERT_FALSE(regrets.empty()) << "no recordings";
  std::ranges::sort(regrets);
  const double regret_95 = regrets[regrets.size() * 95 / 100];
  const auto tunes = static_cast<double>(regrets.size());
  RecordProperty("coverage", std::to_string(covered / tunes));
  RecordProperty("agreement", std::to_string(agreed / tunes));
  RecordProperty("regret_95", std::to_string(regret_95));
  EXPECT_GE(agreed / tunes, least_agreement);
  EXPECT_LE(regret_95, most_regret_95);
  EXPECT_GE(covered / tunes, least_coverage);
  EXPECT_LE(covered / tunes, most_coverage);
}

// One batch that was entered twice, among all others, as a tune would compare them.
TEST(Recordings, WhatIsTheSameSeldomDiffers) {
  int apart = 0, windows = 0;
  for (const fs::path& file : recordings()) {
    const Recording recording(file);
    const auto twins = recording.twins();
    const std::size_t columns = recording.batches().size() + 1;
    for (std::int64_t from = 0; from + rounds_of_twins <= recording.rounds();
         from += rounds_of_twins, ++windows) {
      std::vector<stats::RoundTimes> table(columns);
      for (std::int64_t round = from; round < from + rounds_of_twins; ++round) {
        const auto number = static_cast<std::int32_t>(round - from + 1);
        for (std::size_t i = 0; i + 1 < columns; ++i)
          table[i][number] = std::log(recording.seconds(recording.batches()[i], round));
        table.back()[number] = twins[static_cast<std::size_t>(round)].second;
      }
      const stats::RoundTable rounds(table);
      const std::vector<double> covariance = rounds.covariance();
      const std::size_t one = recording.twin(), two = columns - 1;
      const double variance = covariance[one * columns + one] + covariance[two * columns + two] -
                              2 * covariance[one * columns + two];
      apart += std::abs(rounds.estimates()[one] - rounds.estimates()[two]) >
               stats::normal95 * std::sqrt(variance);
    }
  }
  ASSERT_GT(windows, 0);
  RecordProperty("windows", windows);
  RecordProperty("apart", apart);
  EXPECT_LE(apart, most_twins_apart * windows);
}

}  // namespace
}  // namespace sweetspot::study
