#include "report/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "advise/trials.h"
#include "rendered.h"
#include "report/compare/formats.h"
#include "report/compare/several.h"
#include "words.h"

namespace sweetspot::report::compare {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;
using tests::column_of;
using tests::elements_of;
using tests::found_in;
using tests::made_trial;

// Trials of 1 ms a step and 0.1 ms a sample, `faster` times as fast.
Side side(const std::string& name, double faster, const std::vector<std::int64_t>& batches,
          int repeat = 1) {
  Side made;
  made.name = name;
  made.study.study_key = {"tune paper-cnn on mnist", R"({"terms":{"kind":"tune","repeat":1}})"};
  made.study.environment = {"sweetspot 1", "a CPU", "{}"};
  for (const std::int64_t batch : batches)
    for (int i = 0; i < repeat; ++i) {
      made.study.trials.push_back(
          made_trial(batch, 0.001 / faster * (1 + 0.001 * i), 1e-4 / faster));
      made.study.trials.back().memory_measured = 1000 + batch;
    }
  return made;
}

TEST(Compare, GivesTheRatioOfEachBatchAndOfTheBest) {
  const Comparison c = compare(side("one", 1, {1, 64, 512}), side("two", 2, {64, 256, 512}));
  ASSERT_EQ(c.lines.size(), 4u);
  EXPECT_FALSE(c.lines[0].speed_ratio);  // batch 1 is A's alone
  EXPECT_FALSE(c.lines[0].verdict);
  EXPECT_NEAR(c.lines[1].speed_ratio->mean, 2, 0.02);
  EXPECT_EQ(c.lines[1].verdict, Verdict::faster);
  EXPECT_EQ(c.lines[1].memory_ratio, 1);
  EXPECT_EQ(c.verdict, Verdict::faster);
  EXPECT_FALSE(c.repeated);
  EXPECT_WORDS(c.sentence);
}

TEST(Compare, TurnedRoundItSaysTheOpposite) {
  const Side one = side("one", 1, {64}), two = side("two", 2, {64});
  EXPECT_EQ(compare(two, one).verdict, Verdict::slower);
  EXPECT_WORDS(compare(two, one).sentence);
}

TEST(Compare, WhatIsWithinTheNoiseIsNoDifference) {
  const Comparison c = compare(side("one", 1, {64, 512}, 3), side("two", 1.001, {64, 512}, 3));
  EXPECT_EQ(c.verdict, Verdict::no_difference);
  EXPECT_TRUE(c.repeated);
  EXPECT_WORDS(text(c));
}

TEST(Compare, OfSeveralSettingsOfABatchTheFastestCounts) {
  Side one = side("one", 1, {64});
  one.study.trials.push_back(made_trial(64, 0.0005, 0.5e-4));
  one.study.trials.back().setting.configuration.workers = 4;
  const Comparison c = compare(one, side("two", 2, {64}));
  EXPECT_NEAR(c.lines.at(0).speed_ratio->mean, 1, 0.01);
  EXPECT_EQ(c.lines[0].a.trials, 1u);
}

TEST(Compare, WithoutMeasurementsThereIsNoVerdict) {
  Side none = side("none", 1, {});
  trial::Trial failed;
  failed.outcome = trial::Outcome::crashed;
  none.study.trials = {failed};
  const Comparison c = compare(none, side("two", 1, {64}));
  EXPECT_FALSE(c.verdict);
  EXPECT_WORDS(c.sentence);
  EXPECT_EQ(json(c)["verdict"], nullptr);
  EXPECT_EQ(json(c)["a"]["best_batch"], nullptr);
}

TEST(Compare, NamesWhatDiffers) {
  const Side one = side("one", 1, {64});
  EXPECT_TRUE(compare(one, one).differences.empty());
  Side two = one;
  two.study.environment.machine = "another | CPU\x1b[2J";
  two.study.trials[0].setting.configuration.precision = "bf16";
  two.study.trials[0].device = "cuda:0";
  two.study.study_key.json =
      R"({"terms":{"kind":"tune","machine":{"cpu":"another","threads":1},"repeat":3}})";
  std::vector<std::string> what;
  const Comparison c = compare(one, two);
  for (const Difference& difference : c.differences) what.push_back(difference.what);
  EXPECT_THAT(what,
              testing::ElementsAre("machine", "device", "precision", "machine.threads", "repeat"));
  EXPECT_WORDS(text(c));
  two.study.study_key.json = "not JSON";
  EXPECT_THAT(compare(one, two).differences, testing::SizeIs(testing::Ge(3u)));
}

TEST(Compare, AListThatDiffersIsOneDifference) {
  Side one = side("one", 1, {64}), two = one;
  one.study.study_key.json = R"({"terms":{"batches":[16,32]},"workload":{"args":["a",{"b":1}]}})";
  two.study.study_key.json = R"({"terms":{"batches":[64]},"workload":{"args":[]}})";
  const Comparison c = compare(one, two);
  ASSERT_EQ(c.differences.size(), 2u);
  EXPECT_EQ(c.differences[0].what, "batches");
  EXPECT_EQ(c.differences[0].a, "16, 32");
  EXPECT_EQ(c.differences[0].b, "64");
  EXPECT_EQ(c.differences[1].a, R"(a, {"b":1})");
  EXPECT_EQ(c.differences[1].b, "");
}

TEST(Compare, WordsAndTableTellTheSameSpeed) {
  Side one = side("one", 1, {64, 512}, 2);
  one.study.trials.back().samples_per_second->mean *= 0.5;  // the mean depends on how it is taken
  const Comparison c = compare(one, side("two", 2, {64}));
  for (const Line& line : c.lines)
    if (line.batch == c.a->best_batch) {
      EXPECT_EQ(line.a.samples_per_second->mean, c.a->best_samples_per_second);
    }
}

TEST(Compare, AsAPageIsInert) {
  Side one = side("<script>alert(1)</script>", 1, {64, 512}), two = side("two", 2, {64, 512});
  two.study.environment.machine = "</table><img src=x onerror=alert(1)>\xe2\x80\xae";
  const std::string page = html(compare(one, two));
  EXPECT_THAT(page, testing::StartsWith("<!doctype html>"));
  EXPECT_THAT(page, AllOf(HasSubstr("&lt;script&gt;"), HasSubstr("default-src 'none'")));
  EXPECT_THAT(elements_of(page, "svg"), SizeIs(2));
  EXPECT_THAT(found_in(page, {"<script", "<img", "\xe2\x80\xae"}), IsEmpty());
}

TEST(Compare, HasItsTableVerdictAndKneesInEachForm) {
  const Comparison c = compare(side("study 1", 1, {64, 512}), side("study 2", 2, {64, 512}));
  for (const std::string& form : {text(c), markdown(c)}) {
    EXPECT_THAT(form, HasSubstr(c.sentence));
    EXPECT_THAT(column_of(form), IsSupersetOf({"64", "512"}));
    EXPECT_WORDS(form);
  }
  const auto object = json(c);
  EXPECT_EQ(object.begin().key(), "schema_version");
  EXPECT_EQ(object["batches"].size(), 2u);
  EXPECT_EQ(object["verdict"], "faster");
  EXPECT_EQ(object["b"]["knee_batch"], 512);
}

TEST(CompareSeveral, PutsEachOfTheOthersBesideTheFirst) {
  Side third = side("three", 1, {512});
  third.study.environment.machine = "another CPU";
  const Several several = compare(
      {side("one", 1, {1, 64, 512}), side("two", 2, {64, 256}), third, side("none", 1, {})});
  ASSERT_EQ(several.to_first.size(), 3u);
  EXPECT_EQ(several.to_first[0].verdict, Verdict::faster);
  EXPECT_EQ(several.to_first[1].verdict, Verdict::no_difference);
  EXPECT_FALSE(several.to_first[2].verdict);

  EXPECT_WORDS(text(several));
  const std::string pasted = markdown(several);
  EXPECT_EQ(tests::cells_of(pasted), tests::cells_of(text(several)));
  EXPECT_WORDS(pasted.substr(0, pasted.find("\n|")));
  const std::string drawn = html(several);
  EXPECT_THAT(elements_of(drawn, "svg"), SizeIs(1));
  EXPECT_THAT(elements_of(drawn, "script"), IsEmpty());
  EXPECT_WORDS(tests::texts_of(drawn, {"title", "h1", "h2", "li", "th", "p"}));
  const auto data = json(several);
  EXPECT_EQ(data["studies"].size(), 4u);
  EXPECT_EQ(data["to_first"][0], json(several.to_first[0]));
}

TEST(CompareSeveral, ABatchThatTheFirstHasNotIsShownAllTheSame) {
  const Several several =
      compare({side("one", 1, {64}), side("two", 1, {64, 256}), side("three", 1, {256, 1024})});
  EXPECT_THAT(column_of(text(several)), IsSupersetOf({"64", "256", "1,024"}));
}

}  // namespace
}  // namespace sweetspot::report::compare
