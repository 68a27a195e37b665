#include "report/text/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "rendered.h"
#include "report/formats.h"
#include "report/made_answer.h"
#include "report/table.h"
#include "words.h"

namespace sweetspot::report {
namespace {

using tests::made_answer;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : lines_of(text))
    if (line.find(part) != std::string::npos) return line;
  return "";
}

void expect_fits(const std::string& text, std::size_t width) {
  const auto lines = lines_of(text);
  EXPECT_LE(lines.size(), 20u) << "width " << width << "\n" << text;
  for (const std::string& line : lines)
    EXPECT_LE(display_width(line), width) << "'" << line << "' in\n" << text;
}

const std::vector<std::int64_t> batches{16, 64, 128, 512};

TEST(Screen, IsTheAnswerAtAGlance) {
  ShownStudy answer = made_answer(batches, 128);
  for (trial::Trial& t : answer.trials) t.seconds = 1;
  tests::made_in(answer).slowed_share = 0.23;
  tests::made_in(answer).reasons = {advise::Reason::step_cost, advise::Reason::limit,
                                    advise::Reason::neighbours};
  ScreenOptions options;
  options.width = 120;
  options.more_certain = "--budget 2m", options.page = "sweetspot-study-1.html";
  options.trials = "sweetspot studies show 1";
  EXPECT_WORDS(screen(answer, options));
}

TEST(Screen, FitsAnyWidth) {
  std::vector<std::int64_t> many;
  for (std::int64_t i = 1; i <= 40; ++i) many.push_back(37 * i);
  advise::Facts facts;
  facts.limits.previous = 5;
  facts.cut_short = trial::End::budget, facts.budget_seconds = 20;
  facts.notes = {"a note of " + std::string(300, 'x') + " letters", "and one of several words"};
  facts.worker_search = advise::WorkerSearch{3, {{37, 1, 1000}, {37, 2, 2000}, {37, 4, 2010}}};
  for (const bool given : {false, true})
    for (const bool utf8 : {false, true}) {
      if (given) facts.global_batch = 37 * 40 * 100;
      ShownStudy answer = made_answer(many, 37 * 12, facts);
      advise::Recommendation& made = tests::made_in(answer);
      made.command = "sweetspot train --batch 444 --model 'a model.json' --data some-data --lr 0.1";
      made.limited_by = advise::Bottleneck::memory_bandwidth;
      made.contended = true, made.contention_reason = "somebody else was at work here, all along";
      for (advise::BatchRow& row : made.rows) {
        if (row.batch % 2 == 0) row.limited_by = advise::Bottleneck::memory_bandwidth;
        if (row.batch % 5 != 0 || row.batch == made.batch) continue;
        row.outcome = trial::Outcome::out_of_memory, row.note = std::string(60, 'n');
        row.samples_per_second.reset(), row.share.reset();
      }
      for (std::size_t width = 40; width <= 200; ++width) {
        ScreenOptions options{width, utf8, "--budget 2m", "study-1.html",
                              "sweetspot studies show 1"};
        const std::string text = screen(answer, options);
        expect_fits(text, width);
        EXPECT_NE(line_with(text, utf8 ? "▸ 444" : "> 444"), "") << text;
        EXPECT_EQ(line_with(text, "nnn"), "") << "no text of a failure";
        if (width == 80) {
          EXPECT_WORDS(text);
        }
      }
    }
}

TEST(Screen, KeepsTheRowsThatMatter) {
  std::vector<std::int64_t> many;
  for (std::int64_t i = 1; i <= 40; ++i) many.push_back(10 * i);
  const std::string text = screen(made_answer(many, 200));
  for (const char* batch : {"     10 ", "    400 ", "  ▸ 200 ", "    190 ", "    210 "})
    EXPECT_NE(line_with(text, batch), "") << text;
  EXPECT_LE(lines_of(text).size(), 20u);
}

TEST(Screen, DropsColumnsFromTheRight) {
  const ShownStudy answer = made_answer(batches, 128);
  for (const std::size_t width : {80u, 60u, 50u, 40u}) {
    ScreenOptions options;
    options.width = width;
    expect_fits(screen(answer, options), width);
    EXPECT_WORDS(screen(answer, options));
  }
}

TEST(Screen, SaysOfFailedBatchesOnlyHowTheyEnded) {
  ShownStudy answer = made_answer(batches, 128);
  advise::BatchRow& row = tests::made_in(answer).rows.back();
  row = {};
  row.batch = 4096, row.outcome = trial::Outcome::out_of_memory, row.note = "long story";
  row.limited_by = advise::Bottleneck::memory_capacity;
  EXPECT_WORDS(line_with(screen(answer), "4,096"));
}

TEST(Screen, WithoutUtf8HasAscii) {
  ShownStudy answer = made_answer(batches, 128);
  tests::made_in(answer).rows[0].memory.reset();
  ScreenOptions options;
  options.utf8 = false;
  const std::string text = screen(answer, options);
  EXPECT_TRUE(std::ranges::all_of(text, [](unsigned char c) { return c < 0x80; })) << text;
  EXPECT_WORDS(text);
}

TEST(Screen, OffersMoreCertaintyOnlyWhereThereIsSome) {
  ShownStudy answer = made_answer(batches, 128);
  ScreenOptions options;
  options.more_certain = "--budget 2m";
  const auto offered = [&] { return line_with(screen(answer, options), "--budget 2m") != ""; };
  EXPECT_TRUE(offered());
  tests::made_in(answer).cut_short = trial::End::stopped;
  EXPECT_FALSE(offered());
  tests::made_in(answer).cut_short = std::nullopt;
  tests::made_in(answer).regret = 0.001;
  EXPECT_FALSE(offered());
  tests::made_in(answer).regret = 0.1;
  tests::made_in(answer).objective = search::Objective::max_batch;
  EXPECT_FALSE(offered());
}

TEST(Screen, CallsSizesOfAGivenBatchMicroBatches) {
  advise::Facts facts;
  facts.global_batch = 1024;
  EXPECT_WORDS(screen(made_answer(batches, 128, facts)));
}

TEST(Screen, BreaksLongCommandsAsAShellDoes) {
  ShownStudy answer = made_answer(batches, 128);
  tests::made_in(answer).command =
      "sweetspot train --model 'a long name.json' --data some-data-set --batch 128 --lr 0.01";
  ScreenOptions options;
  options.width = 50;
  EXPECT_WORDS(screen(answer, options));
}

TEST(Screen, WithoutARecommendationShowsWhatIsKnownAndTheTrials) {
  ShownStudy answer = made_answer(batches, 128);
  answer.answer.content = {};
  answer.answer.message = "nothing fits";
  const std::string text = screen(answer);
  EXPECT_THAT(text, testing::StartsWith("nothing fits\n"));
  EXPECT_THAT(tests::column_of(text), testing::ElementsAre("16", "64", "128", "512"));
  EXPECT_WORDS(text);
}

TEST(Screen, HasTheEnergyOfASampleWhereItIsKnown) {
  ShownStudy answer = made_answer(batches, 128);
  ScreenOptions options;
  options.width = 100;
  EXPECT_EQ(line_with(screen(answer, options), " J "), "");
  tests::made_in(answer).rows[2].joules_per_sample = {0.0214, 0.021, 0.022};
  EXPECT_EQ(line_with(screen(answer, options), "0.0214 J"),
            line_with(screen(answer, options), "▸ 128"));
  EXPECT_WORDS(screen(answer, options));
  for (const std::size_t width : {20u, 60u, 80u, 100u}) {
    options.width = width;
    expect_fits(screen(answer, options), width);
  }
}

TEST(Screen, OfPowerLimitsIsATableOfBatchesAndLimits) {
  ShownStudy answer = made_answer(batches, 128);
  advise::Recommendation& made = tests::made_in(answer);
  made.objective = search::Objective::energy;
  made.setting.configuration.power_limit_watts = 500;
  made.joules_per_sample = 0.0214, made.best_joules_per_sample = 0.0261;
  for (advise::BatchRow& row : made.rows) row.joules_per_sample = {0.0214, 0.021, 0.022};
  made.variants.resize(2);
  made.variants[0].configuration.power_limit_watts = 700,
  made.variants[0].rows = {made.rows[1], made.rows[3]};
  made.variants[0].rows[1].joules_per_sample = {0.0261, 0.026, 0.027};
  made.variants[1].configuration.power_limit_watts = 500, made.variants[1].rows = made.rows;

  ScreenOptions options;
  options.width = 100;
  EXPECT_WORDS(screen(answer, options));
  const auto rows = tests::cells_of(markdown(answer));
  ASSERT_EQ(rows.size(), 1 + batches.size());
  EXPECT_THAT(rows[3], testing::Contains("▸ 0.0214 J 98%"));
  EXPECT_THAT(rows[4], testing::Contains("0.0261 J 100%"));
  for (const std::size_t width : {30u, 60u, 100u}) {
    options.width = width;
    expect_fits(screen(answer, options), width);
  }
}

}  // namespace
}  // namespace sweetspot::report
