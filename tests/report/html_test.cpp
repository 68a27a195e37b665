#include "report/html/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "rendered.h"
#include "report/html/page_data.h"
#include "report/made_answer.h"
#include "words.h"

namespace sweetspot::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using tests::elements_of;
using tests::found_in;
using tests::made_trial;
using tests::texts_of;
using Json = nlohmann::json;

ShownStudy page_answer() {
  ShownStudy answer;
  answer.number = "7";
  answer.workload = "paper-cnn on mnist";
  answer.answer.end = trial::End::found;
  for (const std::int64_t batch : {1024, 1, 128}) {
    answer.trials.push_back(made_trial(batch, 0.002, 1e-4));
    answer.trials.back().id = 100 + batch;
    answer.trials.back().raw = {{0.5, batch, 1, {}, true},
                                {0.5, batch, 2, {}, false, false, 1},
                                {2, batch, 1, {}, false, true}};
    answer.trials.back().trace = {{0.1, 0.5, {}, 30.0}, {0.2, {}, {}, 31.0}};
  }
  answer.facts.limits.max = 60000;
  answer.answer.content = *recommend(
      answer.trials, tests::made_decision({1, 128, 1024}, 0.002, 1e-4, 128), answer.facts);
  tests::made_in(answer).command = "sweetspot train --batch 128";
  answer.environment_json = R"({"cpu": "none"})";
  return answer;
}

// What the page's script reads.
Json embedded_data(const std::string& page) {
  const std::string opening = R"(<script type="application/json" id="data">)";
  const std::size_t from = page.find(opening) + opening.size();
  return Json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(Html, ShowsTheAnswerTheChartAndTheTrialsWithoutScripts) {
  const std::string page = html(page_answer());
  EXPECT_THAT(elements_of(page, "svg"), Not(IsEmpty()));
  EXPECT_THAT(elements_of(page, "td"), IsSupersetOf({"128", "1\u202f024"}));
  EXPECT_EQ(elements_of(page, "li").size(), page_answer().recommendation()->reasons.size());
  EXPECT_WORDS(texts_of(page, {"title", "h2", "li", "th"}));
}

TEST(Html, AsksForNothingFromElsewhere) {
  const std::string page = html(page_answer());
  EXPECT_THAT(page, AllOf(HasSubstr("default-src 'none'"), HasSubstr("connect-src 'none'")));
  EXPECT_THAT(found_in(page, {" src=", "@import", "url("}), IsEmpty());
}

TEST(Html, ALivePageListensAndLeavesOutRawSteps) {
  const std::string page = html(page_answer(), Live{"events?study=7", "steps?trial=", ""});
  EXPECT_THAT(page, HasSubstr("connect-src 'self'"));
  const Json data = embedded_data(page);
  EXPECT_EQ(data["live"]["events"], "events?study=7");
  EXPECT_EQ(data["live"]["steps"], "steps?trial=");
  EXPECT_TRUE(data["trials"][0]["raw_steps"].is_null());
}

TEST(Html, HostileTextIsInert) {
  ShownStudy answer = page_answer();
  const std::string hostile =
      "</script><script>alert(1)</script><img src=x onerror=alert(1)> javascript:alert(1) "
      "\x1b[31m \u202e \"'> <!-- ]]> \xff";
  answer.workload = answer.answer.message = answer.number = hostile;
  answer.program = answer.machine = hostile;
  tests::made_in(answer).command = tests::made_in(answer).contention_reason = hostile;
  tests::made_in(answer).notes = {hostile};
  tests::made_in(answer).rows[0].note = tests::made_in(answer).setting.configuration.precision =
      hostile;
  tests::made_in(answer).reasons = {advise::Reason::note, advise::Reason::contended};
  answer.environment_json =
      Json{{hostile, hostile}}.dump(-1, ' ', true, Json::error_handler_t::replace);
  for (trial::Trial& trial : answer.trials) {
    trial.outcome = trial::Outcome::crashed;
    trial.note = trial.setting.configuration.precision = trial.device = trial.memory_source =
        hostile;
  }
  answer.trials[0].note += std::string(10'000'000, '<');
  const std::string page = html(answer);
  EXPECT_THAT(found_in(page, {"<script>alert", "<img", "<!--", "\x1b", "\u202e"}), IsEmpty());
  EXPECT_LT(page.size(), 1'000'000u);
  const Json data = embedded_data(page);  // parses, and its text is what was there
  EXPECT_THAT(data["workload"].get<std::string>(), HasSubstr("</script><script>alert(1)"));
}

TEST(Html, NumbersThatAreNoneAreNull) {
  ShownStudy answer = page_answer();
  const double infinity = std::numeric_limits<double>::infinity();
  answer.trials[0].samples_per_second = trial::Interval{NAN, -infinity, infinity};
  answer.trials[1].step_seconds_median = infinity;
  answer.trials[2].phases = trial::PhaseSeconds{NAN, NAN, 1, 0, infinity};
  answer.trials[2].seconds = answer.started_at = infinity;
  const Json data = embedded_data(html(answer));
  EXPECT_TRUE(data["trials"][2]["samples_per_second"]["mean"].is_null());
  EXPECT_TRUE(data["trials"][0]["step_seconds"]["median"].is_null());
}

TEST(Html, OfAnEmptyStudySaysSo) {
  ShownStudy answer;
  answer.answer.end = trial::End::running;
  EXPECT_WORDS(elements_of(html(answer), "h2").at(0));
}

TEST(PageData, HasRawStepsReadingsAndSeries) {
  const auto data = page_data(page_answer());
  ASSERT_EQ(data["trials"].size(), 3u);
  const auto& trial = data["trials"][1];  // by batch: 1, 128, 1024
  EXPECT_EQ(trial["id"], 228);
  EXPECT_EQ(trial["raw_steps"]["seconds"],
            "AAAAPwAAgD4AAABA");  // of an update: 0.5, 0.25, 2 as float32
  EXPECT_EQ(trial["raw_steps"]["warm_up"], Json::parse("[[0, 1]]"));
  EXPECT_EQ(trial["raw_steps"]["outliers"], Json::array({2}));
  EXPECT_TRUE(trial["trace"]["memory_bytes"].is_null());
  EXPECT_EQ(trial["trace"]["power_watts"], "AADwQQAA+EE=");
  ASSERT_EQ(data["series"].size(), 1u);
  ASSERT_EQ(data["series"][0]["points"].size(), 3u);
  EXPECT_EQ(data["series"][0]["points"][1]["batch"], 128);
  EXPECT_NEAR(data["series"][0]["step_cost"]["fixed_seconds"].get<double>(), 0.002, 1e-9);
  EXPECT_EQ(data["table"]["rows"][2]["keys"][0], 1024);
}

}  // namespace
}  // namespace sweetspot::report
