#include "core/text.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace sweetspot::core {
namespace {

TEST(FormatJoules, HasAUnitThatFits) {
  EXPECT_EQ(format_joules(0), "0 J");
  EXPECT_EQ(format_joules(0.02136), "0.0214 J");
  EXPECT_EQ(format_joules(1234), "1,230 J");
  EXPECT_EQ(format_joules(0.00214), "2.14 mJ");
  EXPECT_EQ(format_joules(60.27e-6), "60.3 µJ");
  EXPECT_EQ(format_joules(4e-8), "40 nJ");
}

TEST(Text, FormatsBytes) {
  EXPECT_EQ(format_bytes(812), "812 B");
  EXPECT_EQ(format_bytes(31'457'280), "30.0 MiB");
  EXPECT_EQ(format_bytes(200 * GiB), "200 GiB");
}

TEST(Text, ParsesBytes) {
  EXPECT_EQ(parse_bytes("4GiB", "--limit"), 4 * GiB);
  EXPECT_EQ(parse_bytes("1.5 MiB", "--limit"), MiB + MiB / 2);
  EXPECT_EQ(parse_bytes("1000", "--limit"), 1000u);
}

TEST(Text, RefusesWhatIsNoSize) {
  for (const char* text : {"", "GiB", "-1G", "4 parsecs", "nan", "1e30G"})
    EXPECT_THROW(parse_bytes(text, "--limit"), InputError) << text;
}

TEST(Text, FormatsShortDurationsInTheirUnit) {
  EXPECT_EQ(format_duration(Seconds(0)), "0 µs");
  EXPECT_EQ(format_duration(Seconds(1.6e-7)), "160 ns");
  EXPECT_EQ(format_duration(Seconds(1.64e-6)), "1.64 µs");
  EXPECT_EQ(format_duration(Seconds(6.5e-5)), "65 µs");
  EXPECT_EQ(format_duration(Seconds(1.4e-3)), "1.4 ms");
}

TEST(Text, ParsesDurations) {
  EXPECT_DOUBLE_EQ(parse_duration("20ms", "--load-delay").count(), 0.02);
  EXPECT_DOUBLE_EQ(parse_duration("5m", "--budget").count(), 300);
  EXPECT_THROW(parse_duration("5", "--budget"), InputError);
}

TEST(Text, GroupsThousands) {
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1234567.2), "1,234,567");
  EXPECT_EQ(format_count(-1000), "-1,000");
}

TEST(Text, ShowsControlCharacters) { EXPECT_EQ(printable("a\033[31m\n"), "a\\x1b[31m\\x0a"); }

TEST(Text, ShowsWhatTerminalsObeyOrReadersAreFooledBy) {
  EXPECT_EQ(printable("é “x” 🙂"), "é “x” 🙂");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m")
      << "a C1 control sequence";
  EXPECT_EQ(printable("\u202egnp.exe"), "\\xe2\\x80\\xaegnp.exe") << "right to left";
  EXPECT_EQ(printable("\xff\xe2\x80"), "\\xff\\xe2\\x80") << "no UTF-8";
  EXPECT_EQ(printable("\xc0\xaf\xed\xa0\x80"), "\\xc0\\xaf\\xed\\xa0\\x80");
}

TEST(Lower, ChangesAsciiLettersOnly) {
  EXPECT_EQ(lower("Train.YAML [Z@`{]"), "train.yaml [z@`{]");
  EXPECT_EQ(lower("\xc3\x84\xff"), "\xc3\x84\xff");  // Ä, and what is no UTF-8
}

}  // namespace
}  // namespace sweetspot::core
