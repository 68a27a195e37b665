#include "report/charts/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rendered.h"
#include "report/markup.h"
#include "words.h"

namespace sweetspot::report {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using tests::elements_of;
using tests::found_in;

SvgChart made_chart() {
  SvgChart chart;
  chart.title = "Throughput";
  chart.description = "It rises.";
  chart.x = {"batch", true}, chart.y = {"samples per second"};
  chart.series = {{"measured", {{1, 100, 90, 110}, {16, 900}, {256, 1200, 1100, 1300}}}};
  return chart;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(Svg, DrawsALineItsMarksAndItsIntervals) {
  const std::string text = svg(made_chart());
  EXPECT_EQ(count(text, "<circle"), 3 + 1);  // and the legend's
  EXPECT_EQ(count(text, "h8M"), 2);          // the caps of two intervals
  const std::vector<std::string> texts = elements_of(text, "text");
  EXPECT_THAT(texts, Contains("1\u202f500"));  // a tick of the y-axis, thousands apart
  EXPECT_THAT(texts, Contains("256"));         // a power of two on the logarithmic axis
  EXPECT_THAT(texts, Not(Contains("-0")));
}

TEST(Svg, LargeNumbersStayOutOfTheAxisLabel) {
  SvgChart chart = made_chart();
  const auto left_of_ticks = [&] {
    const std::string text = svg(chart), mark = R"(" text-anchor="end">)";
    const std::size_t end = text.find(R"(" y=")", text.rfind("<text x=", text.find(mark)));
    return std::stod(text.substr(text.rfind("<text x=", end) + 9));
  };
  EXPECT_EQ(left_of_ticks(), 66);
  chart.series[0].points = {{1, 7'000'000}, {256, 150'000}};
  EXPECT_GE(left_of_ticks(), 24 + 9 * 8);  // of nine characters, behind the label
}

TEST(Svg, HasANameAndADescriptionForThoseWhoDoNotSeeIt) {
  const std::string text = svg(made_chart());
  EXPECT_THAT(text, HasSubstr(R"(role="img" aria-labelledby="chart-title chart-desc")"));
  EXPECT_THAT(elements_of(text, R"(title id="chart-title")"), ElementsAre("Throughput"));
  EXPECT_THAT(elements_of(text, R"(desc id="chart-desc")"), ElementsAre("It rises."));
}

TEST(Svg, TextIsInert) {
  SvgChart chart = made_chart();
  chart.title = "</svg><script>alert(1)</script>";
  chart.series[0].name = "\" onload=\"x";
  chart.x.words = [](double) { return "<b>"; };
  const std::string text = svg(chart);
  EXPECT_THAT(found_in(text, {"<script", "<b>", "\" onload"}), IsEmpty());
}

TEST(Svg, LeavesOutWhatIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity();
  SvgChart chart = made_chart();
  chart.series[0].points = {{1, NAN}, {2, infinity}, {NAN, 3}, {-1, 5}, {4, 8, NAN, infinity}};
  chart.rules = {{NAN, true, "nowhere"}};
  const std::string text = svg(chart);
  EXPECT_EQ(count(text, "<circle"), 1 + 1);
  EXPECT_THAT(found_in(text, {"nan", "inf", "nowhere"}), IsEmpty());
}

TEST(Svg, OfNothingOrOfOneValueHasAxesStill) {
  SvgChart chart = made_chart();
  chart.series.clear();
  EXPECT_THAT(found_in(svg(chart), {"nan"}), IsEmpty());
  chart.series = {{"", {{64, 5}}}};
  chart.y.from = 5, chart.y.to = 5;
  EXPECT_THAT(found_in(svg(chart), {"nan"}), IsEmpty());
}

TEST(Markup, ThousandsAreSetApartWithNarrowSpaces) {
  EXPECT_EQ(with_thin_spaces("9,123 of 1,234,567; a, b, 12,34"),
            "9\u202f123 of 1\u202f234\u202f567; a, b, 12,34");
  EXPECT_EQ(number_words(1234.5), "1\u202f234");
  EXPECT_EQ(number_words(0.014149), "0.01415");
  EXPECT_EQ(number_words(NAN), "–");
}

TEST(Markup, ShowsAndClipsTheTextOfOthers) {
  EXPECT_EQ(shown("a\x1b[31m\u202e"), "a\\x1b[31m\\xe2\\x80\\xae");
  const std::string clipped = shown(std::string(10'000'000, 'x'));
  EXPECT_LT(clipped.size(), 2100u);
  EXPECT_WORDS(clipped.substr(clipped.find_last_of('x') + 1));
  EXPECT_EQ(escaped_markup("<a href='x'>&\"</a>"),
            "&lt;a href=&#39;x&#39;&gt;&amp;&quot;&lt;/a&gt;");
}

}  // namespace
}  // namespace sweetspot::report
