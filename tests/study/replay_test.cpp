// Tunes on machines as they were recorded (bench_rounds), in virtual time.
#include "study/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "stats/quantile.h"
#include "stats/round_table.h"
#include "study/memory_store.h"
#include "study/tune.h"

namespace sweetspot::study {
namespace {

namespace fs = std::filesystem;

constexpr int tunes_of_a_recording = 30;
constexpr double least_agreement = 0.9;  // over all recordings; of any one a little less
constexpr double least_agreement_of_one = 0.75;
constexpr double most_regret_95 = 0.065;  // 95th percentile
constexpr double least_coverage = 0.93, most_coverage = 1.0;
constexpr double most_twins_apart = 0.05;
constexpr std::int64_t rounds_of_twins = 40;

std::vector<fs::path> recordings() {
  std::vector<fs::path> files;
  const fs::path folder = SWEETSPOT_SOURCE_DIR "/tests/study/recordings";
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".gz") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

struct Replayed {
  std::vector<std::int64_t> answers;
  std::vector<double> regrets;  // ascending
  int covered = 0;              // tunes whose bounds hold the true knee
};

Replayed replay(const Recording& recording) {
  Replayed replayed;
  for (int i = 0; i < tunes_of_a_recording; ++i) {
    ReplayWorkload workload(recording, recording.rounds() * i / tunes_of_a_recording);
    tests::Kept kept;
    tests::MemoryWriter writer(kept);
    TuneOptions options;
    options.limits.min = recording.smallest(), options.limits.max = recording.largest();
    Observer nobody;
    const std::atomic<int> stop{0};
    const TuneResult result = tune(workload, writer, options, nobody, stop);
    if (!result.recommendation) continue;
    const advise::Recommendation& made = *result.recommendation;
    replayed.answers.push_back(made.batch);
    replayed.regrets.push_back(1 - recording.true_speed(static_cast<double>(made.batch)) /
                                       recording.true_best());
    const double knee = recording.true_knee(options.limits.tolerance);
    replayed.covered += static_cast<double>(made.knee_low) <= std::ceil(knee) &&
                        static_cast<double>(made.knee_high) >= std::floor(knee);
  }
  std::ranges::sort(replayed.regrets);
  return replayed;
}

std::ptrdiff_t commonest(const std::vector<std::int64_t>& answers) {
  std::ptrdiff_t most = 0;
  for (const std::int64_t answer : answers)
    most = std::max(most, std::ranges::count(answers, answer));
  return most;
}

TEST(Recordings, AreThere) { EXPECT_FALSE(recordings().empty()); }

struct Replay : testing::TestWithParam<fs::path> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Replay);  // AreThere says it better

TEST_P(Replay, TunesAgreeAndAreRight) {
  const Recording recording(GetParam());
  const Replayed replayed = replay(recording);
  ASSERT_EQ(replayed.answers.size(), static_cast<std::size_t>(tunes_of_a_recording));
  const double agreement = static_cast<double>(commonest(replayed.answers)) / tunes_of_a_recording;
  const double regret_95 = replayed.regrets[replayed.regrets.size() * 95 / 100];
  RecordProperty("agreement", std::to_string(agreement));
  RecordProperty("regret_95", std::to_string(regret_95));
  RecordProperty("covered", replayed.covered);
  EXPECT_GE(agreement, least_agreement_of_one) << testing::PrintToString(replayed.answers);
  EXPECT_LE(regret_95, most_regret_95);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Replay, testing::ValuesIn(recordings()), [](const auto& param) {
  std::string name = param.param.stem().string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(Recordings, TunesAgreeAndTheirBoundsHoldTheTrueKnee) {
  double covered = 0, agreed = 0, tunes = 0;
  for (const fs::path& file : recordings()) {
    const Replayed replayed = replay(Recording(file));
    covered += replayed.covered, tunes += static_cast<double>(replayed.answers.size());
    agreed += static_cast<double>(commonest(replayed.answers));
  }
  ASSERT_GT(tunes, 0);
  RecordProperty("coverage", std::to_string(covered / tunes));
  RecordProperty("agreement", std::to_string(agreed / tunes));
  EXPECT_GE(agreed / tunes, least_agreement);
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
