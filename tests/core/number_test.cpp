#include "core/number.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace sweetspot::core {
namespace {

TEST(Number, ReadsWholeNumbers) {
  EXPECT_EQ(parse_whole("100", "--batch", 1), 100);
  EXPECT_EQ(parse_whole("0", "--workers", 0), 0);
}

TEST(Number, RefusesWhatIsNoWholeNumber) {
  for (const char* text : {"", "0", "-1", "12abc", "1.5", " 1", "1 ", "+1", "nan", "0x10",
                           "9223372036854775808", "11"})
    EXPECT_THROW(parse_whole(text, "--batch", 1, 10), InputError) << text;
}

TEST(Number, ReadsReals) {
  EXPECT_DOUBLE_EQ(parse_real("1e-3", "--lr", {0, false}, {1e6}), 0.001);
  EXPECT_DOUBLE_EQ(parse_real("0", "--momentum", {0}, {1, false}), 0);
}

TEST(Number, RefusesWhatIsNoRealOrOutOfBounds) {
  for (const char* text : {"", "nan", "inf", "-inf", "0", "-1", "1", "1e400", "0.1x", "0,1"})
    EXPECT_THROW(parse_real(text, "--lr", {0, false}, {1, false}), InputError) << text;
}

TEST(Number, ReadsShares) {
  EXPECT_DOUBLE_EQ(parse_share("5%", "--tolerance", 0.5), 0.05);
  EXPECT_DOUBLE_EQ(parse_share("0.05", "--tolerance", 0.5), 0.05);
  EXPECT_DOUBLE_EQ(parse_share("100%", "--memory-share", 1), 1);
  for (const char* text : {"", "%", "0%", "-1%", "51%", "5", "nan", "inf%", "5 %", "5%%"})
    EXPECT_THROW(parse_share(text, "--tolerance", 0.5), InputError) << text;
}

}  // namespace
}  // namespace sweetspot::core
