#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "advise/made.h"
#include "rendered.h"
#include "report/formats.h"
#include "report/html/html.h"
#include "report/html/page_data.h"
#include "report/markup.h"
#include "report/shown_study.h"
#include "report/text/screen.h"
#include "words.h"

namespace sweetspot::report {
namespace {

using testing::HasSubstr;
using tests::made_trial;

trial::Study made_study(const std::string& limits = R"("tolerance": 0.15, "min": 1, "max": 4096)") {
  trial::Study study;
  study.id = 3;
  study.study_key.workload = "tune paper-cnn on mnist";
  study.study_key.json = R"({"terms": {"kind": "tune", "memory_share": 0.5, "limits": {)" + limits +
                         R"(}}, "workload": {"model": {"name": "paper-cnn"}}})";
  study.environment = {"sweetspot 0.1.0", "a CPU", R"({"memory_free_bytes": 1000000000})"};
  study.end = trial::End::found;
  for (const std::int64_t batch : {1, 16, 128, 1024})
    study.trials.push_back(made_trial(batch, 0.002, 1e-4));
  return study;
}

// What a tune with that tolerance keeps.
std::string stored_answer(const trial::Study& study, std::optional<std::int64_t> global_batch = {},
                          std::optional<trial::End> cut_short = {}) {
  advise::Facts facts;
  facts.limits.max = 4096, facts.limits.tolerance = 0.15;
  facts.global_batch = global_batch, facts.cut_short = cut_short;
  return advise::to_json({*recommend(
      study.trials, tests::made_decision({1, 16, 128, 1024}, 0.002, 1e-4, 128), facts)});
}

TEST(AnswerOf, IsWhatTheCommandSaid) {
  trial::Study study = made_study();
  study.answer = stored_answer(study);
  const ShownStudy answer = shown_study(study);
  EXPECT_EQ(answer.answer.end, trial::End::found);
  EXPECT_EQ(answer.answer.message, "");
  EXPECT_EQ(answer.workload, "paper-cnn on mnist");
  EXPECT_EQ(answer.facts.limits.tolerance, 0.15);
  ASSERT_TRUE(answer.recommendation());
  EXPECT_EQ(advise::to_json({*answer.recommendation()}), study.answer);
}

TEST(AnswerOf, EveryFormQuotesTheSameFigures) {
  trial::Study study = made_study();
  study.answer = stored_answer(study);
  // The trials alone would say something else.
  for (trial::Trial& t : study.trials)
    t.samples_per_second = trial::Interval{7, 7, 7}, t.memory_measured = 7;
  const ShownStudy answer = shown_study(study);
  const auto object = json(answer);
  const auto page = page_data(answer);
  const auto& made = object["recommendation"];
  EXPECT_EQ(made["batch"], 128);
  EXPECT_NEAR(made["samples_per_second"].get<double>(), 8648.6, 0.1);
  EXPECT_EQ(page["recommendation"]["samples_per_second"], made["samples_per_second"]);
  EXPECT_EQ(page["recommendation"]["throughput_share"], made["throughput_share"]);
  EXPECT_EQ(page["series"][0]["points"][2]["samples_per_second"]["mean"],
            made["samples_per_second"]);
  EXPECT_WORDS(page["figures"].dump(1));
  const std::string words = sentence(*answer.recommendation());
  EXPECT_EQ(page["sentence"], with_thin_spaces(words));
  for (const std::string& text : {markdown(answer), screen(answer)}) {
    EXPECT_THAT(text, HasSubstr(words));
    EXPECT_THAT(text, testing::ContainsRegex("128 [ |]+8,650 [ |]+88%"));
  }
  EXPECT_THAT(html(answer), HasSubstr(with_thin_spaces(words)));
}

TEST(AnswerOf, OfAGivenBatchSaysMicroBatch) {
  trial::Study study =
      made_study(R"("tolerance": 0.15, "min": 1, "max": 1024, "divisor_of": 1024)");
  study.answer = stored_answer(study, 1024);
  for (trial::Trial& t : study.trials) {  // as they were run
    t.setting.accumulation = 1024 / t.setting.batch;
    t.setting.batch = 1024;
  }
  const ShownStudy answer = shown_study(study);
  ASSERT_TRUE(answer.recommendation());
  EXPECT_EQ(answer.recommendation()->setting.accumulation, 8);
  EXPECT_EQ(tests::cells_of(table(answer)).at(0).at(0), "micro-batch");
  const auto page = page_data(answer);
  ASSERT_EQ(page["series"].size(), 1u);
  EXPECT_EQ(page["series"][0]["points"][2]["batch"], 128);
  EXPECT_WORDS(tests::elements_of(html(answer), "title").at(1));  // of the chart
}

TEST(AnswerOf, WithoutAnAnswerHasItsTrials) {
  const ShownStudy answer = shown_study(made_study());
  EXPECT_FALSE(answer.recommendation());
  EXPECT_THAT(tests::column_of(screen(answer)), testing::ElementsAre("1", "16", "128", "1,024"));
  EXPECT_TRUE(json(answer)["recommendation"].is_null());
}

TEST(AnswerOf, AnAnswerThatCannotBeReadIsNone) {
  trial::Study study = made_study();
  for (const char* text : {"no JSON", "[]", "{}", R"({"batch": "x"})"}) {
    study.answer = text;
    EXPECT_FALSE(shown_study(study).recommendation()) << text;
    EXPECT_WORDS(shown_study(study).answer.message);
  }
}

TEST(AnswerOf, ASweepRecommendsNothing) {
  trial::Study study = made_study();
  study.study_key.json = R"({"terms": {"kind": "sweep"}})";
  study.end = trial::End::finished;
  const ShownStudy answer = shown_study(study);
  EXPECT_EQ(answer.answer.end, trial::End::finished);
  EXPECT_FALSE(answer.recommendation());
}

TEST(AnswerOf, SaysHowFarItCame) {
  trial::Study study = made_study();
  study.end = trial::End::running;
  EXPECT_EQ(shown_study(study).answer.end, trial::End::running);
  study.end = trial::End::budget;
  study.answer = stored_answer(study, {}, trial::End::budget);
  EXPECT_EQ(shown_study(study).answer.end, trial::End::budget);
  EXPECT_EQ(shown_study(study).answer.message, "") << "its reasons say it";
  study.end = trial::End::nothing_feasible;
  study.answer = to_json(advise::Answer{{}, study.end, "no batch fits"});
  EXPECT_EQ(shown_study(study).answer.end, trial::End::nothing_feasible);
  EXPECT_EQ(shown_study(study).answer.message, "no batch fits");
}

TEST(AnswerOf, ReadsWhatIsNoQuestionOfOursAsUnknown) {
  for (const char* key : {"", "no JSON", "[]", "{\"terms\": 3}", "{\"terms\": {\"kind\": 1}}",
                          R"({"terms": {"kind": "tune", "limits": {"min": "x", "max": -5}}})"}) {
    trial::Study study = made_study();
    study.study_key.json = key;
    study.environment.json = study.answer = key;
    EXPECT_EQ(shown_study(study).trials.size(), 4u) << key;
  }
}

}  // namespace
}  // namespace sweetspot::report
