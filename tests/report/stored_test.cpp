#include "report/stored.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "advise/trials.h"

namespace sweetspot::report {
namespace {

using testing::Contains;
using testing::HasSubstr;
using tests::made_trial;

trial::Study made_study(const std::string& limits = R"("tolerance": 0.15, "min": 1, "max": 4096)") {
  trial::Study study;
  study.id = 3;
  study.question.workload = "tune paper-cnn on mnist";
  study.question.key = R"({"terms": {"kind": "tune", "memory_share": 0.5, "limits": {)" + limits +
                       R"(}}, "workload": {"model": {"name": "paper-cnn"}}})";
  study.environment = {"sweetspot 0.1.0", "a CPU", R"({"memory_free_bytes": 1000000000})"};
  study.state = trial::StudyState::finished;
  for (const std::int64_t batch : {1, 16, 128, 1024})
    study.trials.push_back(made_trial(batch, 0.002, 1e-4));
  return study;
}

TEST(AnswerOf, RecommendsByTheQuestionsOwnTolerance) {
  const Answer answer = answer_of(made_study());
  EXPECT_EQ(answer.status, "found");
  EXPECT_EQ(answer.workload, "paper-cnn on mnist");
  EXPECT_EQ(answer.facts.limits.tolerance, 0.15);
  EXPECT_EQ(answer.facts.limits.memory_limit, 500'000'000u);
  ASSERT_TRUE(answer.recommendation);
  EXPECT_EQ(answer.recommendation->setting.batch, 128);
  EXPECT_THAT(answer.recommendation->sentence, HasSubstr("Train with batch 128"));
}

TEST(AnswerOf, KeepsAGivenBatch) {
  trial::Study study =
      made_study(R"("tolerance": 0.15, "min": 1, "max": 1024, "divisor_of": 1024)");
  for (trial::Trial& t : study.trials) {
    t.setting.accumulation = 1024 / t.setting.batch;
    t.setting.batch = 1024;
  }
  const Answer answer = answer_of(study);
  ASSERT_TRUE(answer.recommendation);
  EXPECT_EQ(answer.recommendation->setting.batch, 1024);
  EXPECT_EQ(answer.recommendation->setting.accumulation, 8);
}

TEST(AnswerOf, RecallsTheLoaderThatWasChecked) {
  trial::Study study = made_study();
  trial::Trial checked = made_trial(128, 0.001, 5e-5);
  checked.setting.workers = 4, checked.setting.prefetch = 5;
  study.trials.push_back(checked);
  const Answer answer = answer_of(study);
  ASSERT_TRUE(answer.facts.loader_check);
  EXPECT_EQ(answer.facts.loader_check->workers, 4);
  EXPECT_EQ(answer.recommendation->setting.workers, 4);
}

TEST(AnswerOf, HasTheCommandThatTrainsAsRecommended) {
  trial::Study study = made_study();
  study.environment.json =
      R"({"facts": {"reasons": ["bf16 stays with fp32"], "command": [
           {"words": ["train", "--batch", "{batch}"]},
           {"words": ["--workers", "{workers}"], "usual": ["--workers", "1"]}]}})";
  Answer answer = answer_of(study);
  EXPECT_EQ(answer.command, "train --batch 128");
  EXPECT_THAT(answer.recommendation->reasons, Contains("bf16 stays with fp32"));
  trial::Trial checked = made_trial(128, 0.001, 5e-5);
  checked.setting.workers = 4;
  study.trials.push_back(checked);
  EXPECT_EQ(answer_of(study).command, "train --batch 128 --workers 4");
  study.trials.clear();
  EXPECT_EQ(answer_of(study).command, "");
}

TEST(AnswerOf, TakesNoCommandFromWhatIsNone) {
  for (const char* facts :
       {R"({"facts": 1})", R"({"facts": {"command": "rm"}})", R"({"facts": {"command": [1, {}]}})",
        R"({"facts": {"command": [{"words": 3, "usual": {}}], "reasons": 4}})"}) {
    trial::Study study = made_study();
    study.environment.json = facts;
    EXPECT_EQ(answer_of(study).command, "") << facts;
  }
}

TEST(AnswerOf, ASweepRecommendsNothing) {
  trial::Study study = made_study();
  study.question.key = R"({"terms": {"kind": "sweep"}})";
  const Answer answer = answer_of(study);
  EXPECT_EQ(answer.status, "finished");
  EXPECT_FALSE(answer.recommendation);
}

TEST(AnswerOf, SaysHowFarItCame) {
  trial::Study study = made_study();
  study.state = trial::StudyState::running;
  EXPECT_EQ(answer_of(study).status, "running");
  study.state = trial::StudyState::stopped;
  EXPECT_EQ(answer_of(study).status, "stopped");
  EXPECT_THAT(answer_of(study).message, HasSubstr("stopped before its end"));
  study.state = trial::StudyState::finished;
  study.trials.clear();
  EXPECT_EQ(answer_of(study).status, "nothing_feasible");
}

TEST(AnswerOf, ReadsWhatIsNoQuestionOfOursAsUnknown) {
  for (const char* key : {"", "no JSON", "[]", "{\"terms\": 3}", "{\"terms\": {\"kind\": 1}}",
                          R"({"terms": {"kind": "tune", "limits": {"min": "x", "max": -5}}})"}) {
    trial::Study study = made_study();
    study.question.key = key;
    study.environment.json = key;
    EXPECT_EQ(answer_of(study).trials.size(), 4u) << key;
  }
}

}  // namespace
}  // namespace sweetspot::report
