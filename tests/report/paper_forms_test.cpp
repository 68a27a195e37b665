#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/paper/figures.h"
#include "report/paper/forms.h"
#include "report/paper_made.h"

namespace sweetspot::report::paper {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

std::string page(const Experiment& experiment) { return html(experiment, judge(experiment)); }

TEST(PaperPage, DrawsEveryFigureBesideThePapersWords) {
  const Experiment experiment = made_experiment({{}, slow_launches()});
  const std::string text = page(experiment);
  EXPECT_EQ(count(text, "<svg "), 6u);  // four of time and accuracy, two of utilisation
  for (int number = 3; number <= 11; ++number)
    EXPECT_THAT(text, HasSubstr("Figure " + std::to_string(number) + " (")) << number;
  for (const Claim& claim : judge(experiment)) EXPECT_THAT(text, HasSubstr(claim.source));
}

TEST(PaperPage, NeedsNoScriptAndNoOtherFile) {
  const std::string text = page(made_experiment({{}, slow_launches()}));
  for (const char* part : {"<script", "<link", "src=\"", "href=", "url(", "@import"})
    EXPECT_THAT(text, Not(HasSubstr(part))) << part;
  EXPECT_THAT(text, HasSubstr("default-src 'none'"));
}

TEST(PaperPage, WithoutAGpuSaysWhyItsFiguresAreMissing) {
  const std::string text = page(made_experiment({{}}));
  EXPECT_EQ(count(text, "<svg "), 4u);
  EXPECT_EQ(count(text, "Not drawn: no GPU can be used here."), 2u);
}

TEST(PaperPage, RendersHostileWordsInert) {
  Experiment experiment = made_experiment({{}});
  for (std::string* words : {&experiment.workload, &experiment.message, &experiment.program,
                             &experiment.devices[0].hardware})
    *words = "</title></style><script>alert(1)</script>\033[2J\xE2\x80\xAE\"'";
  const std::string text = page(experiment);
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_EQ(count(text, "</style>"), 1u);
}

TEST(PaperPage, OfNothingIsStillAPage) {
  EXPECT_THAT(page(made_experiment({{}}, {})), HasSubstr("No batch could be trained."));
}

TEST(PaperText, HasTablesVerdictsAndTheMethod) {
  Experiment experiment = made_experiment({{}, quick_launches()});
  experiment.devices[0].trials[0].contention.contended = true;
  const std::string text = paper::text(experiment, judge(experiment));
  EXPECT_THAT(text, HasSubstr("CPU (made up)"));
  EXPECT_THAT(text, HasSubstr("| 1,000 |"));
  EXPECT_THAT(text, HasSubstr("✓ On a CPU the training time remains almost the same"));
  EXPECT_THAT(text, HasSubstr("✗ On a GPU five epochs at batch 1000 are faster"));
  EXPECT_THAT(text, HasSubstr("contended in 1 of 20 trials"));
  EXPECT_THAT(markdown(experiment, judge(experiment)), HasSubstr("| **does not hold**"));
}

TEST(PaperJson, HasClaimsCellsAndTheFixedCost) {
  const Experiment experiment = made_experiment({{.noise_share = 0}});
  const auto result = json(experiment, judge(experiment));
  EXPECT_EQ(result.begin().key(), "schema_version");
  EXPECT_EQ(result["claims"][0]["id"], "cpu-flat");
  EXPECT_EQ(result["claims"][0]["verdict"], "holds");
  EXPECT_TRUE(result["claims"][0]["overhead"].is_null());
  ASSERT_EQ(result["devices"].size(), 1u);
  EXPECT_EQ(result["devices"][0]["cells"].size(), 50u);
  EXPECT_NEAR(result["devices"][0]["step_fixed_seconds"]["mean"].get<double>(), 1e-4, 3e-5);
}

}  // namespace
}  // namespace sweetspot::report::paper
