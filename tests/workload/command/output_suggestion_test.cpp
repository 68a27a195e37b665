#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "workload/command/output/reader.h"
#include "workload/command/output/suggestion.h"
#include "workload/command/verdict.h"

namespace sweetspot::workload::command::output {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Suggestion::Kind;

std::vector<std::string> lines(const std::function<std::string(int)>& line) {
  std::vector<std::string> all;
  for (int at = 0; at < 8; ++at) all.push_back(line(at));
  return all;
}

// What a reader with the expression counts in the same lines.
std::int64_t counted(const std::string& regex, const std::vector<std::string>& lines) {
  Reader reader(regex);
  double seconds = 0;
  for (const std::string& line : lines) reader.feed(line + "\n", ++seconds);
  std::int64_t all = 0;
  for (const Advance& advance : reader.take()) all += advance.updates + advance.samples;
  return all;
}

TEST(Suggestion, ReadsTheNumberThatRises) {
  const std::vector<std::function<std::string(int)>> programs = {
      [](int i) { return std::to_string(i * 20) + " 0.31 0.01"; },
      [](int i) { return "  1   " + std::to_string(i * 20) + "   0.31"; },
      [](int i) { return "[" + std::to_string(i * 20) + "/938] loss 0.3"; },
      [](int i) { return "第" + std::to_string(i * 20) + "步 0.3"; },
      [](int i) { return "E001 S" + std::to_string(i * 20) + " L0.3"; },
      [](int i) { return "i=" + std::to_string(i * 20) + " loss=0.3"; },
      [](int i) { return "Durchgang " + std::to_string(i * 20) + ": Verlust 0.3"; },
      [](int i) { return "1," + std::to_string(i * 20) + ",0.25"; },
      [](int i) { return "{'n': " + std::to_string(i * 20) + ", 'l': 0.3}"; },
      [](int i) { return "12:00:0" + std::to_string(i) + " pass " + std::to_string(i * 20); },
      [](int i) { return "loss 0.3 (" + std::to_string(i * 20) + ") seed 7 worker 3"; },
  };
  for (const auto& program : programs) {
    const auto printed = lines(program);
    const Suggestion suggestion = suggest(printed);
    ASSERT_EQ(suggestion.kind, Kind::paste_regex) << printed[1];
    EXPECT_THAT(suggestion.values, ElementsAre(60, 80, 100, 120, 140)) << printed[1];
    EXPECT_EQ(suggestion.regex.find('\''), std::string::npos) << suggestion.regex;
    EXPECT_EQ(counted(suggestion.regex, printed), 140) << suggestion.regex;
  }
}

TEST(Suggestion, IsNotMisledByOtherLines) {
  std::vector<std::string> printed = {"loaded 60000 samples in 12 files", "seed 20",
                                      "model of 12 layers"};
  for (const std::string& line : lines([](int i) { return "k " + std::to_string(i) + " l 0.3"; })) {
    printed.push_back(line);
    printed.push_back("memory " + std::to_string(1000 + line.size() * 7) + " of 4000");
  }
  const Suggestion suggestion = suggest(printed);
  ASSERT_EQ(suggestion.kind, Kind::paste_regex);
  EXPECT_EQ(suggestion.regex, R"(\bk\s*(\d+))");
}

TEST(Suggestion, OffersNoCounterOfSomethingElse) {
  const auto kind = [](const std::function<std::string(int)>& line) {
    return suggest(lines(line)).kind;
  };
  EXPECT_EQ(kind([](int i) { return "epoch " + std::to_string(i) + ": loss 0.3"; }),
            Kind::epochs_only);
  EXPECT_EQ(kind([](int i) { return "progress: " + std::to_string(i * 10) + "%"; }),
            Kind::percent_only);
  EXPECT_EQ(kind([](int i) { return "tokens " + std::to_string(i * 4096); }), Kind::nothing_rises);
  EXPECT_EQ(kind([](int i) { return "elapsed " + std::to_string(i * 10); }), Kind::nothing_rises);
  EXPECT_EQ(kind([](int i) { return "Downloading part " + std::to_string(i); }),
            Kind::nothing_rises);
  EXPECT_EQ(kind([](int) { return std::string("still alive"); }), Kind::nothing_rises);
  EXPECT_EQ(kind([](int i) { return "speed " + std::to_string(640 + (i * i * 7) % 31); }),
            Kind::nothing_rises);
  EXPECT_EQ(suggest({"one", "line"}).kind, Kind::too_few_lines);
}

TEST(Suggestion, OffersWhatLooksLikeAValidationWithAnIf) {
  for (const std::string name : {"[test] step ", "test_run INFO iter "}) {
    const auto printed = lines([&](int i) { return name + std::to_string(i * 20) + " loss 0.3"; });
    const Suggestion suggestion = suggest(printed);
    ASSERT_EQ(suggestion.kind, Kind::validation) << name;
    EXPECT_EQ(counted(suggestion.regex, printed), 140) << suggestion.regex;
    EXPECT_THAT(how_to_show_steps(suggestion),
                testing::AllOf(HasSubstr("look like those of a validation"),
                               HasSubstr("add --steps-regex '")));
  }
}

TEST(Suggestion, AsksWhereStepsAreAnEnvironments) {
  const auto kind = [](const std::function<std::string(int)>& line) {
    return suggest(lines(line)).kind;
  };
  EXPECT_EQ(kind([](int i) {
              return "Episode " + std::to_string(i) + " return 3.1 steps " +
                     std::to_string(i * 200);
            }),
            Kind::environment);
  EXPECT_EQ(kind([](int i) { return "|    total_timesteps | " + std::to_string(i * 2048) + " |"; }),
            Kind::environment);
}

TEST(Suggestion, SaysWhenEachLineComesWithAValidation) {
  EXPECT_EQ(suggest(lines([](int i) {
              return "step " + std::to_string(i * 500) + ": train loss 2." + std::to_string(i) +
                     ", val loss 2.3" + std::to_string(i);
            })).kind,
            Kind::each_validates);
}

TEST(Suggestion, IsWordedToBePasted) {
  EXPECT_THAT(how_to_show_steps({Kind::paste_regex, R"(\bi=(\d+))", {20, 40, 60}}),
              HasSubstr(R"(add --steps-regex '\bi=(\d+)' if the number that rises in its lines )"
                        "(…, 20, 40, 60) counts training steps"));
  EXPECT_THAT(how_to_show_steps({Kind::nothing_rises, "", {}}),
              testing::AllOf(HasSubstr("no number rises"), HasSubstr("docs/programs.md")));
}

}  // namespace
}  // namespace sweetspot::workload::command::output
