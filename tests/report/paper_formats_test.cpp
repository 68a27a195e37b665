#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "rendered.h"
#include "report/paper/figures.h"
#include "report/paper/formats.h"
#include "report/paper_made.h"
#include "words.h"

namespace sweetspot::report::paper {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using tests::found_in;
using tests::texts_of;

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
  for (const Claim& claim : judge(experiment)) EXPECT_THAT(text, HasSubstr(claim.source));
  EXPECT_WORDS(texts_of(text, {"title", "h1", "h2", "h3", "figcaption"}));
}

TEST(PaperPage, NeedsNoScriptAndNoOtherFile) {
  const std::string text = page(made_experiment({{}, slow_launches()}));
  EXPECT_THAT(found_in(text, {"<script", "<link", "src=\"", "href=", "url(", "@import"}),
              IsEmpty());
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
  EXPECT_THAT(found_in(text, {"<script", "\033"}), IsEmpty());
  EXPECT_EQ(count(text, "</style>"), 1u);
}

TEST(PaperPage, OfNothingIsStillAPage) {
  EXPECT_WORDS(texts_of(page(made_experiment({{}}, {})), {"p"}));
}

TEST(PaperText, HasTablesVerdictsAndTheMethod) {
  Experiment experiment = made_experiment({{}, quick_launches()});
  experiment.devices[0].trials[0].contention.contended = true;
  EXPECT_WORDS(paper::text(experiment, judge(experiment)));
  const std::string pasted = markdown(experiment, judge(experiment));
  EXPECT_WORDS(pasted.substr(0, pasted.find("\n## ")));
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
