#include "message.h"

#include <gtest/gtest.h>

#include <limits>

namespace sweetspot::client {
namespace {

TEST(Message, FieldsOfEachKindAreRead) {
  const auto message = Message::parse(
      R"( { "type" : "setting" , "batch":64, "learning_rate":1e-3, "new":{"a":[1,{"b":null}]},)"
      R"("precision":"b\"f\u00311\n6","no":false,"workers":0} )");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->text("type"), "setting");
  EXPECT_EQ(message->whole("batch", 1), 64);
  EXPECT_EQ(message->number("learning_rate"), 1e-3);
  EXPECT_EQ(message->text("precision"), "b\"f11\n6");
  EXPECT_EQ(message->whole("workers", 0), 0);
  EXPECT_EQ(message->whole("workers", 1), std::nullopt);
  EXPECT_EQ(message->number("precision"), std::nullopt);
  EXPECT_EQ(message->text("batch"), std::nullopt);
  EXPECT_EQ(message->text("b"), std::nullopt) << "it is nested";
  EXPECT_EQ(message->text("absent"), std::nullopt);
}

TEST(Message, HugeNumbersAreNoWholeOnes) {
  const auto message = Message::parse(R"({"batch":1e300,"other":-5})");
  ASSERT_TRUE(message);
  EXPECT_EQ(message->whole("batch", 1), std::nullopt);
  EXPECT_EQ(message->whole("other", 1), std::nullopt);
}

TEST(Message, WhatIsNoObjectIsRefused) {
  for (const char* line : {"",
                           "null",
                           "[]",
                           "{",
                           "}",
                           "{}{}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{a:1}",
                           "{\"a\":nan}",
                           "{\"a\":inf}",
                           "{\"a\":+1}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\\u12\"}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":[1 2]}",
                           "{\"a\":truth}",
                           "{\"a\":1e999}",
                           "{\"a\":\"b}"})
    EXPECT_FALSE(Message::parse(line)) << line;
}

TEST(Message, DeepNestingIsRefusedAndNotFollowed) {
  const std::string deep(100000, '[');
  EXPECT_FALSE(Message::parse("{\"a\":" + deep));
}

TEST(Message, EveryPrefixOfALineIsRefused) {
  const std::string line = R"({"type":"setting","batch":64,"x":[{"y":"\u0041\\"},-1.5e-3,true]})";
  ASSERT_TRUE(Message::parse(line));
  for (std::size_t length = 0; length < line.size(); ++length)
    EXPECT_FALSE(Message::parse(std::string_view(line).substr(0, length))) << length;
}

TEST(Line, IsJsonWhateverIsPutIn) {
  const std::string line = Line("step")
                               .add("how", std::string_view("a\"b\\c\nd"))
                               .add("at_seconds", 81234.123456789012)
                               .add("nothing", std::numeric_limits<double>::quiet_NaN())
                               .add("samples", std::int64_t{64})
                               .add("session", true)
                               .end();
  EXPECT_EQ(line,
            "{\"type\":\"step\",\"how\":\"a\\\"b\\\\c d\",\"at_seconds\":81234.123456789,"
            "\"nothing\":null,\"samples\":64,\"session\":true}\n");
  const auto read = Message::parse(line);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->number("at_seconds"), 81234.123456789012) << "not to the last digit";
}

}  // namespace
}  // namespace sweetspot::client
