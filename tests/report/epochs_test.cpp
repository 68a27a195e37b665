#include "report/epochs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "rendered.h"
#include "report/charts/series.h"
#include "report/formats.h"
#include "words.h"

namespace sweetspot::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using tests::cells_of;
using tests::column_of;

constexpr std::int64_t one_and_two[] = {1, 2};

trial::Trial trained(std::int64_t batch, std::uint64_t seed, double epoch_seconds,
                     std::vector<double> accuracies) {
  trial::Trial trial;
  trial.setting.batch = batch;
  trial.setting.seed = seed;
  for (const double accuracy : accuracies) {
    trial::Epoch epoch;
    epoch.epoch = static_cast<int>(trial.epochs.size()) + 1;
    epoch.train_seconds = epoch_seconds;
    if (accuracy > 0) epoch.test_accuracy = accuracy;
    trial.epochs.push_back(epoch);
  }
  return trial;
}

std::vector<trial::Trial> two_batches() {
  return {trained(200, 1, 1.5, {0.95, 0.97}), trained(100, 2, 2.2, {0.97, 0.985}),
          trained(100, 1, 2.0, {0.96, 0.975})};
}

TEST(EpochCells, GatherTheSeedsOfASettingAndAddUpItsEpochs) {
  const auto cells = epoch_cells(two_batches(), one_and_two);
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(cells[1].setting.batch, 100);
  EXPECT_EQ(cells[1].epochs, 2);
  EXPECT_THAT(cells[1].train_seconds, ElementsAre(4.4, 4.0));
  EXPECT_THAT(cells[1].test_accuracy, ElementsAre(0.985, 0.975));
  EXPECT_EQ(cells[3].setting.batch, 200);
}

TEST(EpochCells, LeaveOutWhatFailedOrWasNotReached) {
  auto trials = two_batches();
  trials[0].outcome = trial::Outcome::out_of_memory;
  trials[1].epochs.pop_back();
  const auto cells = epoch_cells(trials, one_and_two);
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].train_seconds.size(), 2u);
  EXPECT_EQ(cells[1].train_seconds.size(), 1u);
}

TEST(EpochTables, ShowAccuracyAndTimeWithIntervalsOverSeeds) {
  const auto rows = cells_of(epoch_tables(two_batches(), one_and_two));
  ASSERT_EQ(rows.size(), 6u);  // accuracy, then time
  EXPECT_THAT(rows[1], ElementsAre("100", "96.50 +3.50/−6.35", "98.00 +2.00/−6.35"));
  EXPECT_THAT(rows[2], ElementsAre("200", "95.00", "97.00"));
  EXPECT_EQ(rows[4][2], "4.20 ±2.54");
  EXPECT_WORDS(epoch_tables(two_batches(), one_and_two));
}

TEST(EpochCells, HaveIntervalsWhereValuesCanLieOnly) {
  ShownStudy answer;
  answer.trials = {trained(100, 1, 1, {0.2, 0.9}), trained(100, 2, 9, {0.05, 1})};
  const auto object = epoch_json(answer, one_and_two);
  for (const auto& cell : object["cells"]) {
    EXPECT_GE(cell["test_accuracy"]["low"], 0);
    EXPECT_LE(cell["test_accuracy"]["high"], 1);
    EXPECT_GE(cell["train_seconds"]["low"], 0);
  }
  const auto all = series(answer);
  ASSERT_EQ(all.size(), 1u);
  for (const EpochPoint& point : all[0].epochs) {
    EXPECT_GE(point.test_accuracy->low, 0);
    EXPECT_LE(point.test_accuracy->high, 1);
    EXPECT_GE(point.train_seconds.low, 0);
  }
}

TEST(EpochTables, TellOfFailuresOnceAndHarmlessly) {
  auto trials = two_batches();
  for (int seed : {1, 2}) {
    trials.push_back(trained(900, static_cast<std::uint64_t>(seed), 1, {}));
    trials.back().outcome = trial::Outcome::refused;
    trials.back().note = "too\033[2Jlarge";
  }
  const std::string text = epoch_tables(trials, one_and_two);
  const std::size_t at = text.find("batch 900: refused, too");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(text.find("batch 900", at + 1), std::string::npos);
  EXPECT_THAT(text, Not(HasSubstr("\033")));
}

TEST(EpochTables, OfAStoredSweepHaveItsEpochsAndBatches) {
  trial::Study study;
  study.study_key.workload = "sweep tiny on mnist";
  study.study_key.json =
      R"({"terms": {"kind": "sweep", "epochs": 2, "batches": [1024, 64], "limits": {"min": 1}}})";
  study.trials = two_batches();
  const ShownStudy answer = shown_study(study);
  EXPECT_EQ(answer.swept_epochs, 2);
  const auto object = epoch_json(answer, one_and_two);
  EXPECT_EQ(object["limits"]["min_batch"], 64);
  EXPECT_EQ(object["limits"]["max_batch"], 1024);
  EXPECT_EQ(object["cells"].size(), 4u);
}

TEST(EpochTables, AccuracyThatNobodyMeasuredIsNotShown) {
  const std::vector<trial::Trial> trials{trained(100, 1, 2, {0, 0})};
  EXPECT_EQ(cells_of(epoch_tables(trials, one_and_two)).size(), 2u) << "a heading and a batch";
  EXPECT_WORDS(epoch_tables(trials, one_and_two));
  EXPECT_WORDS(epoch_sentence(trials, one_and_two));
  EXPECT_EQ(epoch_sentence({}, one_and_two), "");
}

TEST(TrialTable, ShowsEpochsAndAccuracyWhereTrialsHaveThem) {
  ShownStudy answer;
  answer.trials = two_batches();
  answer.trials.push_back(trained(300, 1, 1, {}));
  answer.trials.push_back(trained(400, 1, 1, {}));
  trial::Evaluation within_an_epoch;
  within_an_epoch.test_accuracy = 0.96;
  answer.trials.back().evaluations = {within_an_epoch};
  EXPECT_THAT(column_of(table(answer)), ElementsAre("100", "100", "200", "300", "400"));
  EXPECT_THAT(column_of(table(answer), 1), ElementsAre("2", "1", "1", "1", "1")) << "seeds";
  EXPECT_THAT(column_of(table(answer), 2), ElementsAre("2", "2", "2", "–", "–"));
  EXPECT_THAT(column_of(table(answer), 3),
              ElementsAre("98.50%", "97.50%", "97.00%", "–", "96.00%"));
  EXPECT_EQ(cells_of(markdown(answer)).at(0), cells_of(table(answer)).at(0));
  EXPECT_WORDS(table(answer));
  answer.trials = {trained(300, 1, 1, {})};
  EXPECT_WORDS(table(answer));
}

TEST(EpochSentence, NamesTheMostAccurateAndTheFastest) {
  EXPECT_WORDS(epoch_sentence(two_batches(), one_and_two));
}

TEST(EpochSentence, SaysThatItWasTimedBesideOtherWork) {
  auto trials = two_batches();
  for (trial::Trial& t : trials) t.contention.contended = t.setting.batch == 200;
  EXPECT_WORDS(epoch_sentence(trials, one_and_two));
  for (trial::Trial& t : trials) t.contention.contended = t.setting.batch == 100;
  EXPECT_EQ(epoch_sentence(trials, one_and_two), epoch_sentence(two_batches(), one_and_two));
}

TEST(EpochJson, HasEveryCellAndNullWhereNothingIsKnown) {
  ShownStudy answer;
  answer.trials = two_batches();
  const auto json = epoch_json(answer, one_and_two);
  ASSERT_EQ(json["cells"].size(), 4u);
  EXPECT_EQ(json["cells"][0]["trials"], 2);
  EXPECT_NEAR(json["cells"][0]["test_accuracy"]["mean"].get<double>(), 0.965, 1e-12);
  EXPECT_LT(json["cells"][0]["train_seconds"]["low"], 2.1);
  EXPECT_TRUE(json["cells"][3]["train_seconds"]["low"].is_null());
}

TEST(EpochCsv, HasARowForEachEpochOfEachTrial) {
  auto trials = two_batches();
  trials.push_back(trained(900, 1, 1, {}));
  trials.back().outcome = trial::Outcome::out_of_memory;
  const std::string text = epoch_csv(trials);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 6 + 1);
  EXPECT_THAT(text, HasSubstr("2,cpu,100,1,fp32,1,0.001,2,ok,false,2,2.2,4.4,,,,0.985,\r\n"));
  EXPECT_THAT(text, HasSubstr("out_of_memory,false,,,,,,,,\r\n"));
}

}  // namespace
}  // namespace sweetspot::report
