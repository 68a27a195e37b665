#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "workload/command/output/scanner.h"
#include "workload/command/output_transcript.h"

namespace sweetspot::workload::command::output {
namespace {

using testing::ElementsAre;

struct Collected final : Scanner::Sink {
  bool maybe_whole(std::string_view, double) override { return false; }
  void ended(std::string_view text, double) override { refreshes.emplace_back(text); }
  std::vector<std::string> refreshes;
};

std::vector<std::string> refreshes_of(std::string_view bytes) {
  Collected collected;
  Scanner scanner;
  scanner.feed(bytes, 0, collected);
  return collected.refreshes;
}

TEST(Scanner, CutsWhereATerminalWouldGoBackOrOn) {
  EXPECT_THAT(refreshes_of("a\rb\nc\r\nd\b\b\be\033[Kf\033[Ag\033[2Jh\n"),
              ElementsAre("a", "b", "c", "d", "e", "f", "g", "h"));
}

TEST(Scanner, DropsEscapesWhereverTheyStand) {
  EXPECT_THAT(refreshes_of("a\033[1;31mb\033[0mc\n"), ElementsAre("abc"));
  EXPECT_THAT(refreshes_of("a\033]0;title\ab\033]8;;http://x\033\\c\n"), ElementsAre("abc"));
  EXPECT_THAT(refreshes_of("a\033(Bb\033=c\033Pq#0\033\\d\n"), ElementsAre("abcd"));
  EXPECT_THAT(refreshes_of(std::string_view("a\0b\x07\x7f"
                                            "c\n",
                                            7)),
              ElementsAre("abc"));
}

TEST(Scanner, AnUnfinishedEscapeSwallowsNoMoreThanItsLine) {
  EXPECT_THAT(refreshes_of("\033]0;never ended\nnext\n"), ElementsAre("next"));
  EXPECT_THAT(refreshes_of("a\033[12\nnext\n"), ElementsAre("a", "next"));
  EXPECT_THAT(refreshes_of("a\033\nnext\n"), ElementsAre("a", "next"));
  EXPECT_THAT(refreshes_of("a\033[1\033[2mb\n"), ElementsAre("ab"));
}

TEST(Scanner, KeepsTheBeginningOfAnEndlessLine) {
  std::string line(100'000, 'x');
  line.append("\nnext\n");  // GCC 12 has a false warning for a sum
  const auto refreshes = refreshes_of(line);
  EXPECT_THAT(refreshes, ElementsAre(std::string(Scanner::longest_kept, 'x'), "next"));
}

bool is_valid_utf8_text(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const std::size_t size = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    if (byte < 0x80 && byte < 0x20 && byte != '\n') return false;
    if (byte == 0x7f || (byte >= 0x80 && byte < 0xc2) || at + size > text.size()) return false;
    for (std::size_t i = 1; i < size; ++i)
      if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return false;
    at += size;
  }
  return true;
}

TEST(LastLines, AreTheEndWithoutControls) {
  Reader reader;
  reader.feed("one\ntwo\n\033[31mthree\033[0m\xff\n\nfo\0ur", 1);
  EXPECT_EQ(reader.last_lines(2), "three?\nfo");
  EXPECT_EQ(reader.last_lines(0), "");
}

TEST(LastLines, ShowABarOnceAndKeepWhatStoodBefore) {
  Reader reader;
  reader.feed("start\n", 0);
  for (int i = 0; i < 50; ++i) {
    std::string bar = "\r";
    bar.append(std::to_string(i)).append("/50 [00:01<00:01]");
    reader.feed(bar, i);
  }
  reader.feed("\nTraceback:\r\nValueError\r\n", 60);
  EXPECT_EQ(reader.last_lines(), "start\n49/50 [00:01<00:01]\nTraceback:\nValueError");
}

TEST(LastLines, StayBoundedAndValidOnRandomBytes) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    Reader whole, in_pieces;
    std::string bytes;
    for (int i = 0; i < 200'000; ++i) bytes += static_cast<char>(random());
    whole.feed(bytes, 1);
    for (std::string_view rest = bytes; !rest.empty();) {
      const std::size_t size = std::min<std::size_t>(random() % 5000, rest.size());
      in_pieces.feed(rest.substr(0, size), 1);
      rest.remove_prefix(size);
    }
    const std::string told = told_by(whole);
    EXPECT_EQ(told_by(in_pieces), told) << "seed " << seed;
    EXPECT_TRUE(is_valid_utf8_text(told)) << "seed " << seed;
    EXPECT_LE(told.size(), 10u * 1505);
  }
}

TEST(LastLines, OfAnEndlessLineIsItsEnd) {
  Reader reader;
  const std::string chunk(1 << 20, 'x');
  for (int i = 0; i < 20; ++i) reader.feed(chunk, i);
  EXPECT_LE(reader.last_lines().size(), 1505u);
  EXPECT_TRUE(reader.last_lines().starts_with("xxx"));
}

// Random text between real refreshes must not change them.
TEST(Reader, FindsBarsAfterAFlood) {
  Reader reader;
  reader.feed(std::string(1 << 22, '\xe2') + std::string(1000, '\0') + "\033]0;", 1);
  reader.feed("\n 10%|# | 10/100 [00:01<00:09, 1.00it/s]\n", 2);
  reader.feed(" 20%|# | 20/100 [00:01<00:09, 1.00it/s]\n", 3);
  const auto advances = reader.take();
  ASSERT_EQ(advances.size(), 1u);
  EXPECT_EQ(advances[0].updates, 10);
}

}  // namespace
}  // namespace sweetspot::workload::command::output
