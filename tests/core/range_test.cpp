#include "core/number.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "words.h"

namespace sweetspot::core {
namespace {

using testing::ElementsAre;

TEST(Range, OneValue) { EXPECT_THAT(parse_range("128", "--batch"), ElementsAre(128)); }

TEST(Range, ListIsSortedWithoutRepeats) {
  EXPECT_THAT(parse_range("64,16,32,16", "--batch"), ElementsAre(16, 32, 64));
}

TEST(Range, Multiplies) {
  EXPECT_THAT(parse_range("16..256*2", "--batch"), ElementsAre(16, 32, 64, 128, 256));
  EXPECT_THAT(parse_range("16..100*3", "--batch"), ElementsAre(16, 48));
}

TEST(Range, Adds) {
  EXPECT_THAT(parse_range("100..400+100", "--batch"), ElementsAre(100, 200, 300, 400));
  EXPECT_THAT(parse_range("4..7", "--batch"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(parse_range("1,4..8*2,100..300+100", "--batch"), ElementsAre(1, 4, 8, 100, 200, 300));
}

TEST(Range, EndAtTheLargestBatchDoesNotOverflow) {
  EXPECT_EQ(parse_range("1..1099511627776*2", "--batch").size(), 41u);
}

TEST(Range, RefusesWhatIsNoRange) {
  for (const char* text :
       {"", ",", "16,", "0", "-4", "12abc", "16..", "..16", "16..8", "16..64*1", "16..64+0",
        "16..64*", "16..64-2", "1..1000000000", "9999999999999999999", "1e3", "16 ..64", "nan"})
    EXPECT_THROW(parse_range(text, "--batch"), InputError) << text;
}

TEST(Range, MessageNamesTheFlag) {
  try {
    parse_range("12abc", "--batch");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_WORDS(error.what());
  }
}

}  // namespace
}  // namespace sweetspot::core
