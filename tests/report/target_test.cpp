#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "rendered.h"
#include "report/formats.h"
#include "report/shown_study.h"
#include "report/table.h"
#include "report/text/screen.h"
#include "report/text/summary.h"
#include "report/text/target_table.h"
#include "words.h"

namespace sweetspot::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

advise::TargetRunTold run_of(std::uint64_t seed, double seconds, bool reached = true) {
  advise::TargetRunTold run;
  run.seed = seed, run.reached = reached;
  run.samples = 10'000 * seconds, run.updates = 100 * seconds;
  run.seconds = seconds, run.clock_seconds = 1.5 * seconds;
  run.best = reached ? 0.991 : 0.981;
  return run;
}

advise::TargetRow row_of(std::int64_t batch, double predicted,
                         std::vector<advise::TargetRunTold> runs = {}) {
  advise::TargetRow row;
  row.batch = batch, row.learning_rate = 0.0011;
  row.samples_per_second = {10'000, 9'900, 10'100};
  row.predicted_seconds = {predicted, 0.8 * predicted, 1.2 * predicted};
  row.predicted_samples = {1e4 * predicted, 8e3 * predicted, 1.2e4 * predicted};
  row.runs = std::move(runs);
  return row;
}

advise::TimeToTarget answer() {
  advise::TimeToTarget made;
  made.batch = 128;
  made.command = "sweetspot train --batch 128 --lr 0.0011";
  made.learning_rate_rule = "square-root", made.base_learning_rate = 0.001;
  made.samples_in_epoch = 60'000;
  made.critical_batch = {800, 400, 1600};
  made.throughput_batch = 512;
  made.rows = {row_of(64, 8.1), row_of(128, 6.5, {run_of(1, 6), run_of(2, 6.2), run_of(3, 6.1)}),
               row_of(256, 6.9, {run_of(1, 12, false)}), row_of(512, 9.2), row_of(1024, 15)};
  made.rows.back().failure = "crashed: the loss became NaN at step 3";
  return made;
}

TEST(TargetAnswer, BeginsWithTheSentenceToActOn) {
  EXPECT_WORDS(sentence(answer()));
  advise::TimeToTarget lost = answer();
  lost.batch.reset();
  lost.best = 0.981, lost.best_batch = 256, lost.most_epochs = 20;
  EXPECT_WORDS(sentence(lost));
}

TEST(TargetAnswer, TellsTheSeedsThatMissedIt) {
  advise::TimeToTarget made = answer();
  made.rows[1].runs[1].reached = false;
  EXPECT_WORDS(sentence(made));
  made.rows[1].runs.pop_back();
  EXPECT_WORDS(sentence(made));
}

TEST(TargetAnswer, OfAProgramThatEndedNamesNoBudget) {
  advise::TimeToTarget lost = answer();
  lost.batch.reset();
  lost.best = 0.981, lost.best_batch = 256;
  EXPECT_WORDS(sentence(lost));
  lost.cut_short = trial::End::budget;
  EXPECT_WORDS(sentence(lost));
}

// 256 was trained for 12 s, predicted were 6.9.
TEST(TargetAnswer, PredictsNothingThatARunRefutes) {
  advise::TimeToTarget made = answer();
  made.throughput_batch = 256;
  made.rows[0].runs = {run_of(1, 8)};
  const std::vector<std::string> reasons = reasons_in_words(made);
  EXPECT_WORDS(reasons[0]);
  EXPECT_WORDS(reasons[2]);
}

TEST(TargetAnswer, OfFailuresAloneSaysHowOneFailed) {
  advise::TimeToTarget made = answer();
  made.batch.reset();
  made.most_epochs = 20;
  made.best = 0.1, made.best_batch = 64;  // before it diverged
  for (advise::TargetRow& row : made.rows) row.runs.clear();
  EXPECT_WORDS(sentence(made));
  for (const std::string& reason : reasons_in_words(made))
    EXPECT_THAT(reason, Not(HasSubstr("--most-epochs")));
}

TEST(TargetAnswer, HasARowForEachBatchAndSaysWhatThroughputWouldHaveBeen) {
  ShownStudy whole;
  whole.answer.content = answer();
  const std::string text = screen(whole);
  EXPECT_WORDS(text);
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(display_width(line), 80u);
  EXPECT_LE(count, 20);
  EXPECT_EQ(sentence(whole), advise::sentence(answer()));
  EXPECT_THAT(tests::column_of(markdown(whole)),
              testing::ElementsAre("64", "128", "256", "512", "1,024"));
}

TEST(TargetAnswer, KeepsWhatMattersOfManyBatches) {
  advise::TimeToTarget made = answer();
  made.rows.pop_back();
  for (std::int64_t batch = 1024; batch < 1 << 24; batch *= 2)
    made.rows.push_back(row_of(batch, static_cast<double>(batch) / 50));
  ShownStudy whole;
  whole.answer.content = made;
  const std::string text = screen(whole);
  EXPECT_THAT(text, AllOf(HasSubstr("▸ 128"), HasSubstr(" 256"), HasSubstr(" 512"),
                          Not(HasSubstr("8,388,608"))));
}

TEST(TargetAnswer, KeepsTheBatchThatItsSentenceNamesAmongFailedOnes) {
  advise::TimeToTarget made;
  made.most_epochs = 2;
  made.rows.push_back(row_of(1, 100, {run_of(1, 40, false)}));
  made.best = 0.981, made.best_batch = 1;
  for (std::int64_t batch = 2; batch <= 1 << 13; batch *= 2) {
    made.rows.push_back(row_of(batch, 1));
    made.rows.back().failure = "crashed: the loss became NaN at step 3";
  }
  ShownStudy whole;
  whole.answer.content = made;
  EXPECT_WORDS(screen(whole));
}

TEST(TargetAnswer, SaysWhereTheLearningRateStopsFollowing) {
  advise::TimeToTarget made = answer();
  made.learning_rate_rule = "linear";
  made.noise_batch = 5000;
  const auto plain = reasons_in_words(made);
  made.noise_batch = 90;
  EXPECT_NE(reasons_in_words(made), plain);
  for (const char* rule : {"linear", "surge", "square-root"}) {
    made.learning_rate_rule = rule;
    EXPECT_WORDS(reasons_in_words(made)[2]);
  }
}

TEST(TargetAnswer, ComesBackFromTheStoreAsItWas) {
  trial::Study study;
  study.id = 3, study.end = trial::End::found;
  study.study_key.workload = "tune paper-cnn on mnist to 99%";
  study.study_key.json = R"({"terms":{"kind":"tune"}})";
  study.answer = advise::to_json({answer()});
  const ShownStudy stored = shown_study(study);
  EXPECT_EQ(*stored.to_target(), answer());
  EXPECT_EQ(stored.answer.end, trial::End::found);
  EXPECT_EQ(stored.answer.message, "");
  const auto object = json(stored)["time_to_target"];
  EXPECT_EQ(object["batch"], 128);
  EXPECT_EQ(object["rows"][1]["reached"], 3);
  EXPECT_NEAR(object["rows"][1]["epochs"].get<double>(), 1.0167, 1e-3);
  EXPECT_TRUE(object["rows"][0]["measured_seconds"].is_null());
}

TEST(TargetAnswer, OfAnybodysTextIsNone) {
  nlohmann::ordered_json whole = nlohmann::ordered_json::parse(advise::to_json({answer()}));
  for (const auto& [key, value] : whole["content"].items()) {
    auto other = whole;
    other["content"][key] = nlohmann::ordered_json::array({-1, "x"});
    const auto read = advise::answer_from_json(other.dump());
    if (read) {
      EXPECT_EQ(read->get<advise::TimeToTarget>()->rows.size(), 5u) << key;  // derived: not read
    }
  }
  whole["content"]["batch"] = 77;  // of which there is no row
  EXPECT_FALSE(advise::answer_from_json(whole.dump()));
  EXPECT_FALSE(advise::answer_from_json(R"({"kind": "time_to_target", "content": {}})"));
  EXPECT_FALSE(advise::answer_from_json(R"({"kind": "another"})"));
}

}  // namespace
}  // namespace sweetspot::report
