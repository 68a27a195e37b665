#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "workload/command/client/message.h"

namespace sweetspot::workload::command::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

template <class Kind>
std::optional<Kind> as(std::string_view line) {
  const std::optional<Message> message = parse(line);
  const Kind* kind = message ? std::get_if<Kind>(&*message) : nullptr;
  return kind ? std::optional<Kind>(*kind) : std::nullopt;
}

TEST(ClientMessage, ReadsEachType) {
  const auto hello = as<Hello>(
      R"({"type":"hello","protocol":1,"client":"python","client_version":"1","pid":7,"session":true})");
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->client, "python");
  EXPECT_TRUE(hello->session);
  EXPECT_EQ(as<Begin>(R"({"type":"begin","at_seconds":12.5})")->at_seconds, 12.5);
  const auto step = as<StepEnd>(
      R"({"samples":640,"updates":10,"dropped":2,"data_wait_seconds":0.5,"at_seconds":3,"type":"step"})");
  ASSERT_TRUE(step);
  EXPECT_EQ(step->at_seconds, 3);
  EXPECT_EQ(step->samples, 640);
  EXPECT_EQ(step->updates, 10);
  EXPECT_EQ(step->dropped, 2);
  EXPECT_EQ(step->data_wait_seconds, 0.5);
  const auto memory =
      as<DeviceMemory>(R"({"type":"memory","device":"cuda:0","peak_bytes":7,"how":"x"})");
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->peak, 7u);
  EXPECT_EQ(memory->how, "x");
  EXPECT_FALSE(memory->allocated || memory->capacity);
  const auto more = as<DeviceMemory>(
      R"({"type":"memory","peak_bytes":7,"allocated_bytes":5,"capacity_bytes":9,"device":"cuda:1"})");
  ASSERT_TRUE(more);
  EXPECT_EQ(more->allocated, 5u);
  EXPECT_EQ(more->capacity, 9u);
  EXPECT_EQ(more->device, "cuda:1");
  EXPECT_EQ(as<Epoch>(R"({"type":"epoch","batches":118})")->batches, 118);
  EXPECT_TRUE(as<Ready>(R"({"type":"ready"})"));
  const auto failed = as<Failed>(
      R"({"type":"failed","outcome":"out_of_memory","reason":"no\nmore","kept_bytes":5})");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->outcome, trial::Outcome::out_of_memory);
  EXPECT_EQ(failed->reason, "no\\x0amore");
  EXPECT_EQ(failed->kept, 5u);
}

TEST(ClientMessage, WhatIsLeftOutOrNullIsUnknown) {
  const auto step = as<StepEnd>(R"({"type":"step","at_seconds":3,"samples":null})");
  ASSERT_TRUE(step);
  EXPECT_FALSE(step->samples);
  EXPECT_EQ(step->updates, 1);
  EXPECT_FALSE(step->data_wait_seconds);
  EXPECT_FALSE(as<Hello>(R"({"type":"hello","protocol":9})")->session);
}

TEST(ClientMessage, UnknownTypesAndKeysAreIgnored) {
  EXPECT_TRUE(as<Unknown>(R"({"type":"weather","of":[1]})"));
  EXPECT_TRUE(as<Ready>(R"({"type":"ready","weather":{"a":1}})"));
}

TEST(ClientMessage, BadLinesAreNone) {
  for (const char* line : {"",
                           "rubbish",
                           "[]",
                           "7",
                           "null",
                           "{",
                           R"({"type":7})",
                           "{}",
                           "\xff{}",
                           R"({"type":"hello"})",
                           R"({"type":"hello","protocol":0})",
                           R"({"type":"hello","protocol":1,"session":"yes"})",
                           R"({"type":"begin"})",
                           R"({"type":"begin","at_seconds":"now"})",
                           R"({"type":"begin","at_seconds":-1})",
                           R"({"type":"begin","at_seconds":1e999})",
                           R"({"type":"step","at_seconds":NaN})",
                           R"({"type":"step","at_seconds":1,"samples":1.5})",
                           R"({"type":"step","at_seconds":1,"samples":-1})",
                           R"({"type":"step","at_seconds":1,"samples":99999999999999999999})",
                           R"({"type":"step","at_seconds":1,"updates":0})",
                           R"({"type":"step","at_seconds":1,"updates":9000000000})",
                           R"({"type":"failed"})",
                           R"({"type":"failed","outcome":"ok"})",
                           R"({"type":"failed","outcome":"out_of_memory","kept_bytes":-1})",
                           R"({"type":"memory"})",
                           R"({"type":"memory","peak_bytes":1,"capacity_bytes":-1})",
                           R"({"type":"epoch","batches":0})"})
    EXPECT_FALSE(parse(line)) << line;
  EXPECT_FALSE(parse(std::string(60000, '['))) << "nested deeply";
}

TEST(ClientMessage, TextIsMadeFitToShow) {
  const auto hello = as<Hello>(R"({"type":"hello","protocol":1,"client":"a\u001b[31m\n"})");
  EXPECT_EQ(hello->client, "a\\x1b[31m\\x0a");
  std::string line = R"({"type":"memory","peak_bytes":1,"how":")";
  line.append(1000, 'x').append("\"}");
  const auto memory = as<DeviceMemory>(line);
  EXPECT_EQ(memory->how.size(), 64u);
}

TEST(ClientMessage, SaysTheSetting) {
  trial::Setting setting;
  setting.batch = 96;
  setting.accumulation = 3;
  const std::string line = setting_line(setting);
  EXPECT_TRUE(line.ends_with("}\n"));
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json.at("type"), "setting");
  EXPECT_EQ(json.at("batch"), 96);
  EXPECT_EQ(json.at("micro_batch"), 32);
  EXPECT_EQ(json.at("learning_rate"), 0.001);
  EXPECT_EQ(enough_line(), "{\"type\":\"enough\"}\n");
  EXPECT_EQ(done_line(), "{\"type\":\"done\"}\n");
}

TEST(ClientLines, AreTheSameForEveryCut) {
  const std::string text = "one\n\ntwo\nthree\nhalf";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Lines lines;
    std::vector<std::string> all = lines.feed(text.substr(0, cut));
    for (std::string& line : lines.feed(text.substr(cut))) all.push_back(line);
    EXPECT_THAT(all, ElementsAre("one", "", "two", "three"));
    EXPECT_EQ(lines.bad(), 0);
    lines.end();
    EXPECT_EQ(lines.bad(), 1);
  }
}

TEST(ClientLines, TooLongOnesAreSkippedAndCountedOnce) {
  Lines lines;
  const std::string longest(longest_line - 1, 'x');
  EXPECT_THAT(lines.feed(longest + "\n"), ElementsAre(longest));
  for (int i = 0; i < 50; ++i) EXPECT_THAT(lines.feed(longest), IsEmpty());
  EXPECT_EQ(lines.bad(), 1);
  EXPECT_THAT(lines.feed("\nnext\n"), ElementsAre("next"));
  EXPECT_EQ(lines.bad(), 1);
  EXPECT_THAT(lines.feed(longest + "x\n"), IsEmpty());
  EXPECT_EQ(lines.bad(), 2);
}

TEST(StepEnd, HasItsLossWhereTheClientTellsIt) {
  const auto loss_of = [](const char* line) { return std::get<StepEnd>(parse(line).value()).loss; };
  EXPECT_EQ(loss_of(R"({"type":"step","at_seconds":1,"loss":2.5})"), 2.5);
  EXPECT_EQ(loss_of(R"({"type":"step","at_seconds":1,"loss":-3})"), -3);
  EXPECT_EQ(loss_of(R"({"type":"step","at_seconds":1})"), std::nullopt);
  EXPECT_FALSE(parse(R"({"type":"step","at_seconds":1,"loss":"low"})"));
}

}  // namespace
}  // namespace sweetspot::workload::command::client
